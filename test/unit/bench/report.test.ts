import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Histogram } from '../../../bench/histogram.ts';
import { renderPage } from '../../../bench/page.ts';
import { ninesOf, renderChart, renderPlot } from '../../../bench/plot.ts';
import { atLeast, atMost, type Conditions, type Finished, ofQuietest, quietest } from '../../../bench/report.ts';

const CONDITIONS: Conditions = {
  date: '2026-01-02T03:04:05.678Z',
  commit: 'abc',
  node: 'v22',
  machine: '2 x <processor>',
  verifier: 'native, 0 verifier threads',
  loadAverage: 0.5,
};

function report(changes: Partial<Finished> = {}): Finished {
  return { bench: 'ring', settings: 's', rows: [], goals: [], seconds: 1, stolen: 0, ...changes };
}

describe('a histogram', () => {
  it('gives every quantile back within a thousandth, whatever the size of the values', () => {
    for (const scale of [1, 1000, 1_000_000]) {
      const histogram = new Histogram();
      for (let value = 1; value <= 10_000; value++) histogram.record(value * scale);
      for (const share of [0.5, 0.9, 0.99, 0.999, 1]) {
        const exact = share * 10_000 * scale;
        const read = histogram.quantileNs(share);
        assert.ok(read <= exact && read >= exact * 0.999, `${share} of ${scale}: ${read}`);
      }
      assert.equal(histogram.maxNs, 10_000 * scale);
    }
  });

  it('has a curve that never falls, reaches the slowest sample and claims nothing beyond its samples', () => {
    const histogram = new Histogram();
    for (let value = 1; value <= 1000; value++) histogram.record(value * 1000);
    const curve = histogram.curve();
    for (let index = 1; index < curve.length; index++) {
      assert.ok(curve[index][0] > curve[index - 1][0] && curve[index][1] >= curve[index - 1][1]);
    }
    const [share, us] = curve.at(-1)!;
    assert.equal(us, 1000);
    assert.ok(share < 0.9996);
  });

  it('of nothing has no curve', () => {
    assert.deepEqual(new Histogram().curve(), []);
  });
});

describe('a report', () => {
  it('meets a goal at its very bound', () => {
    assert.deepEqual(
      [atLeast('x', 5, 5), atLeast('x', 4.99, 5), atMost('x', 5, 5), atMost('x', 5.01, 5)].map(({ isMet }) => isMet),
      [true, false, true, false],
    );
  });

  it('believes the round with the least noise', () => {
    const rounds = [{ noise: 3 }, { noise: 0.5 }, { noise: 9 }];
    assert.equal(
      quietest(rounds, ({ noise }) => noise),
      rounds[1],
    );
  });

  it('takes the median of rounds that were disturbed alike', () => {
    const measured = (...rounds: [noise: number, figure: number][]): number =>
      ofQuietest(
        rounds,
        ([noise]) => noise,
        ([, figure]) => figure,
      );
    assert.equal(measured([3, 1], [0.5, 2], [9, 3]), 2);
    assert.equal(measured([0, 5], [0.99, 1], [0, 4]), 4);
    assert.equal(measured([0, 5], [1, 1], [0, 4]), 4.5);
  });
});

describe('a plot', () => {
  it('gives each tenth of what is left the same room', () => {
    assert.deepEqual(
      [0, 0.9, 0.99, 0.999].map((share) => Number(ninesOf(share).toFixed(9))),
      [0, 1, 2, 3],
    );
  });

  it('draws one line for each curve that has points, and nothing for none', () => {
    const points = [[0, 10] as const, [0.9, 100] as const, [0.99, 5000] as const];
    const svg = renderPlot({
      title: 't',
      curves: [
        { name: 'a', points },
        { name: 'b', points },
        { name: 'c', points: [] },
      ],
    });
    assert.equal(svg.match(/<polyline /g)?.length, 2);
    assert.match(svg, />99 %</);
    assert.match(svg, />10 ms</);
    assert.doesNotMatch(svg, /NaN|Infinity/);
    assert.equal(renderPlot({ title: 't', curves: [] }), '');
  });
});

describe('the page of a run', () => {
  it('says which goals fell short, and writes every text as text', () => {
    const goals = [atLeast('<b>rate</b>', 1, 2), atLeast('hops', 3, 2)];
    const page = renderPage(CONDITIONS, [report({ goals, rows: [{ what: 'a & b', 'us <': 3 }] })]);
    assert.match(page, /1 of 2 goals are met/);
    assert.match(page, /class="short">SHORT/);
    assert.match(page, /&#60;b&#62;rate&#60;\/b&#62; &#62;= 2/);
    assert.match(page, /a &#38; b/);
    assert.match(page, /2 x &#60;processor&#62;/);
    assert.doesNotMatch(page, /<b>/);
  });

  it('needs nothing from a network', () => {
    const page = renderPage(CONDITIONS, [report()]);
    assert.doesNotMatch(page, /https?:|<script|<link|@import|url\(/);
  });
});

test('a chart has a line for each quantity, from the bottom at 0 to the top at the most', () => {
  const chart = {
    title: 'disk',
    lines: [
      { name: '<a>', values: [0, 50, 100] },
      { name: 'b', values: [100, 100, 100] },
    ],
  };
  const drawn = renderChart(chart);
  assert.match(drawn, /class="curve0" points="70.0,304.0 455.0,159.0 840.0,14.0"/);
  assert.match(drawn, /class="curve1" points="70.0,14.0 455.0,14.0 840.0,14.0"/);
  assert.match(drawn, /&#60;a&#62;/);
  assert.equal(renderChart({ title: 'of a month', lines: [{ name: 'a', values: [1] }] }), '');
});
