// Where time goes: bounds, the busiest links and NICs, and what would change it.
'use strict';

/** Bounds and times, each as [name, seconds, why, color]. */
function timeRows() {
  const t = theme(), T = D.time, rows = [];
  if (T && T.roles_bound_s)
    rows.push(['any roles, at least', T.roles_bound_s, T.roles_witness, t.kept]);
  if (T && T.bound_s) rows.push(['these roles, at least', T.bound_s, T.witness, t.kept]);
  if (D.resources.length) {
    const busiest = D.resources[0];
    rows.push([
      'busiest link or NIC', busiest.seconds, `${busiest.name}: ${bytes(busiest.bytes)}`, t.inside
    ]);
  }
  rows.push([
    'predicted', predicted.seconds,
    `${count(S.rounds, 'round')}, on ${D.predicted.cluster}${T && T.assumed ? ' (assumed)' : ''}`,
    t.between
  ]);
  if (D.measured)
    rows.push(['measured', D.measured.seconds, D.measured.transport + ' transport', t.worst]);
  return rows;
}

function drawTimeBars(root) {
  const rows = timeRows(), most = Math.max(...rows.map((row) => row[1]));
  root.append(h('div', {class: 'bars'}, rows.map(([name, value, why, color]) => [
    h('span', {class: 'name'}, name),
    h('span', {class: 'track'},
      h('i', {style: `width:${most ? (100 * value) / most : 0}%;background:${color}`})),
    h('b', {}, milliseconds(value)), h('span', {class: 'why'}, why)
  ])));
}

/** Every row a link or NIC, every bar a round: the darker, the closer to the full rate. */
function drawPorts(root) {
  const list = D.resources.filter((resource) => resource.rounds);
  if (!list.length || !predicted.seconds) return;
  const t = theme(), high = 18, left = 170, width = 1000;
  const picture = svg('svg', {
    class: 'grid', role: 'img', viewBox: `0 0 ${width} ${high * list.length + 22}`,
    'aria-label': 'The busiest links and NICs over time'
  });
  const x = (time) => left + ((width - left) * time) / predicted.seconds;
  list.forEach((resource, row) => {
    const top = row * high, ends = predicted.endsOf(D.world.participants[resource.rank]);
    picture.append(
        svg('text', {x: 0, y: top + 13, fill: t.soft, 'font-size': 12}, resource.name),
        svg('rect',
            {x: left, y: top + 2, width: width - left, height: high - 4, fill: t.faint}));
    let begin = 0;
    resource.rounds.forEach((needed, round) => {
      const end = ends[round];
      if (needed > 0 && end > begin)
        picture.append(svg(
            'rect', {
              x: x(begin), y: top + 2, width: Math.max(0.4, x(end) - x(begin)), height: high - 4,
              fill: rampColor(Math.min(1, needed / (end - begin)))
            },
            svg('title', {}, `${resource.name}, round ${round}: ${
                percent(needed, end - begin)} of its rate`)));
      begin = end;
    });
  });
  const bottom = high * list.length + 15;
  picture.append(
      svg('text', {x: left, y: bottom, fill: t.soft, 'font-size': 12}, '0'),
      svg('text', {x: width, y: bottom, fill: t.soft, 'font-size': 12, 'text-anchor': 'end'},
          milliseconds(predicted.seconds)));
  root.append(h('h3', {}, 'The busiest links and NICs over time'), picture);
  root.append(tableBehind('As a table', () => table(
      [
        ['link or NIC', (row) => row.name], ['bytes', (row) => bytes(row.bytes), (row) => row.bytes],
        ['at its full rate', (row) => milliseconds(row.seconds), (row) => row.seconds],
        ['of the predicted time', (row) => percent(row.seconds, predicted.seconds), (row) => row.seconds]
      ],
      D.resources, 'The busiest links and NICs')));
}

/** What another placement would cost, from --place=any's price. */
function priceSentence(price) {
  const more = (value, text) => `${text(Math.abs(value))} ${value < 0 ? 'more' : 'less'}`;
  if (!price || price.moved_bytes === null) return null;
  const parts = [
    more(price.moved_bytes, bytes) + ' moved', more(price.internode_bytes, bytes) + ' between nodes'
  ];
  if (price.seconds !== null) parts.push(more(price.seconds, milliseconds));
  if (!price.moved_bytes && !price.internode_bytes && !price.seconds) return null;
  return `Compare placements with --frontier: --place=any instead of --place=${price.place} means ${
      parts.join(', ')}, but may split tensor-parallel groups or leave nodes half empty.`;
}

/** Whether the plan does what the paper's method does, which defers nothing. */
function isOfPaper() {
  const paper = S.paper_policy;
  return paper !== null &&
      ['moved_bytes', 'internode_bytes', 'max_recv_bytes'].every((name) => paper[name] === S[name]);
}

/** The planner defers where parameters are among the types, and others move. */
function deferSentence() {
  const hasParameters = D.tensors.some((tensor) => /^param(\.|$)/.test(tensor.type));
  const movesOthers = D.tensors.some(
      (tensor) => !/^(param(\..*)?|buffer)$/.test(tensor.type) && tensor.moved > 0);
  if (S.deferred_rounds > 0 || !hasParameters || !movesOthers || isOfPaper()) return null;
  return 'Only parameters are needed for the next step: --defer=optimizer (without --derive=param) moves the rest after the pause.';
}

/** Sentences about what would make the migration faster. Those of D.advice have the largest gain first. */
function nextSteps() {
  const assumed = D.time && D.time.assumed ?
      'The cluster is assumed. Name yours with --cluster=NODESxDEVICES@NAME: all times depend on it.' :
      null;
  return [assumed, ...D.advice, priceSentence(D.price), deferSentence()].filter(Boolean);
}

function drawTime(root) {
  drawTimeBars(root);
  drawPorts(root);
  const list = nextSteps().map((text) => h('li', {}, text));
  if (list.length) root.append(h('h3', {}, 'What to do next'), h('ul', {class: 'next'}, list));
}
