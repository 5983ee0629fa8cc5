"""What operators read and send that is no JSON."""

from __future__ import annotations

from typing import Any

from ..decoding import decode
from ..models import CatalogueImport
from .operations import Operations
from .steps import Steps

_LINES = "application/x-ndjson"


class AdminTexts(Operations):
    """The catalogue as lines, and the metrics."""

    def import_catalogue(self, lines: str) -> Steps[CatalogueImport]:
        """Lines of JSON, at most 1,000 and 1 MiB of them, each with an event or a market: `{"event": {…}}`.

        A repeat changes nothing more: the keys of events and markets are in the lines.
        """
        answer: Any = yield from self.requests.send_text("POST", "/admin/catalogue/import", lines, _LINES, "once")
        return decode(CatalogueImport, answer)

    def export_catalogue(self) -> Steps[str]:
        """The whole catalogue as lines that `import_catalogue` reads."""
        return self.requests.read_text("/admin/catalogue/export")

    def metrics(self) -> Steps[str]:
        """The metrics in the text format of Prometheus."""
        return self.requests.read_text("/metrics")
