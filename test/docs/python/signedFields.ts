/** The signed fields of an order, for the Python client: they follow from the table of an order's fields. */
import { SIGNED_FIELDS } from '../../../shared/base/orderFields.ts';

const HEAD = `"""The order that wallets sign: its EIP-712 type, field by field."""

# Made from the table of an order's fields by \`npm run docs\`: a change here is lost.
from __future__ import annotations

from typing import NamedTuple


class SignedField(NamedTuple):
    """A field of the type, and the member of a placement body that has its value."""

    type: str
    name: str
    member: str
    is_optional: bool


SIGNED_FIELDS = (
`;
const END = `)
"""In the order of the type."""
ORDER_TYPE = "Order(" + ",".join(f"{each.type} {each.name}" for each in SIGNED_FIELDS) + ")"
`;

export function signedFields(): string {
  const rows = SIGNED_FIELDS.map(({ type, name, json, isOptional }) => {
    const values = [type, name, json].map((text) => `"${text}"`);
    return `    SignedField(${[...values, isOptional === true ? 'True' : 'False'].join(', ')}),\n`;
  });
  return HEAD + rows.join('') + END;
}
