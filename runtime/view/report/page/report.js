// Puts the page together.
'use strict';

const sections = [];

function section(id, title, how, draw) {
  const root =
      h('section', {id, 'aria-labelledby': id + '-title'}, h('h2', {id: id + '-title'}, title),
        how ? h('p', {class: 'how'}, how) : null);
  document.getElementById('sections').append(root);
  document.getElementById('nav').append(
      h('a', {href: '#' + id}, title.split(',')[0].split(':')[0]));
  sections.push({root, draw, isFixed: root.children.length});
}

const isLeast =
    plan.movedBytes === S.bound.moved_bytes && S.internode_bytes === S.bound.internode_bytes;

const excepts = (plans) => D.certificates.some((certificate) => !certificate.covers[plans]);
const isTwinsApart = excepts('twins');

const exceptions = ['relays', 'recomputation'].filter(excepts);
const betweenNodes =
    'between nodes' + (exceptions.length ? ' without ' + exceptions.join(' or ') : '');

function drawTitle() {
  const nodes = new Set(D.world.participants.map((d) => plan.nodeOf[d]));
  const tile = (value, text) => h('div', {class: 'tile'}, h('b', {}, value), h('span', {}, text));
  const claim = isLeast ?
      `no role assignment needs fewer bytes, in all or ${betweenNodes}` :
      S.internode_bytes === S.bound.internode_bytes ?
      `no role assignment needs fewer bytes ${betweenNodes}, and none less than ${
          bytes(S.bound.moved_bytes)} in all` :
      `no role assignment needs less than ${bytes(S.bound.moved_bytes)}, or than ${
          bytes(S.bound.internode_bytes)} ${betweenNodes}`;
  const verdict = `Proved: ${claim}${isTwinsApart ? ', tied copies counted apart' : ''}.`;
  const tiles = [
    tile(
        bytes(plan.movedBytes),
        `moves, ${percent(plan.movedBytes, plan.stateBytes)} of the new state`),
    tile(bytes(S.internode_bytes), 'of it between nodes'),
    tile(bytes(S.kept_bytes + S.derived_bytes), 'stays, or is cast where it lands'),
    tile(milliseconds(predicted.seconds), 'predicted, in ' + count(S.rounds, 'round')),
    tile(S.peak_ratio.toFixed(4) + ' x', 'peak memory, proved')
  ];
  if (D.measured)
    tiles.splice(
        4, 0,
        tile(
            milliseconds(D.measured.seconds),
            `measured, ${D.measured.transport} transport${
                D.measured.verified ? '; every bit verified' : ''}`));
  document.title = `${D.model}: ${D.prev} to ${D.curr}`;
  document.getElementById('title').append(
      h('h1', {}, D.model + ': ' + D.prev, h('span', {class: 'arrow'}, ' → '), D.curr),
      h('p', {class: 'lead'},
        `${D.world.prev.toLocaleString('en')} to ${count(D.world.curr, 'device')}; ${
            nodes.size} of ${count(D.world.nodes.length, 'node')} take part.`),
      h('p',
        {class: 'verdict ' + (S.internode_bytes === S.bound.internode_bytes ? 'least' : 'above')},
        verdict),
      h('div', {class: 'tiles'}, tiles));
}

function drawTensors(root) {
  const t = theme();
  const all = (row) => row.moved + row.kept + row.derived + row.zeroed;
  const split = (row) => h(
      'span', {class: 'split', role: 'img', 'aria-label': percent(row.moved, all(row)) + ' moves'},
      [['kept', 'kept'], ['derived', 'derived'], ['zeroed', 'zeroed'], ['moved', 'between']].map(
          ([field, color]) => h(
              'span', {style: `width:${(100 * row[field]) / all(row)}%;background:${t[color]}`})));
  root.append(table(
      [
        ['tensor', (row) => row.name], ['type', (row) => row.type],
        ['', split, (row) => row.moved / all(row)], ['bytes', (row) => bytes(all(row)), all],
        ['moves', (row) => bytes(row.moved), (row) => row.moved],
        ['share', (row) => percent(row.moved, all(row)), (row) => row.moved / all(row)],
        ['kept', (row) => bytes(row.kept), (row) => row.kept],
        ['cast', (row) => bytes(row.derived), (row) => row.derived]
      ],
      D.tensors, 'Tensors'));
  root.append(h('div', {class: 'legend'}, [
    ['kept', 'kept'], ['derived', 'cast where it lands'], ['zeroed', 'new padding'],
    ['between', 'moves']
  ].map(([color, text]) => h('span', {}, h('i', {style: `background:${t[color]}`}), text))));
}

function declareSections() {
  const T = D.time || {};
  const bounds = [
    T.roles_bound_s && 'one for all roles that the request allows', T.bound_s && 'one for the chosen roles'
  ].filter(Boolean);
  section(
      'totals', 'Totals',
      'The bound is the least over all assignments of roles to devices, proved by dual certificates that etc-opt checks' +
          (isTwinsApart ?
               '; it may count several tied copies, where one could be received for all' :
               '') +
          (S.paper_policy ?
               '; the paper\'s method is what the published algorithm would move for the same request.' :
               '.'),
      drawTotals);
  section(
      'time', 'Where time goes',
      (bounds.length ? 'What no plan is below, what' : 'What') +
          ' the busiest link or NIC needs at its full rate, and what the simulator predicts.' +
          (bounds.length ? ' Bounds hold for all sources, relays and rounds: ' + bounds.join(', ') + '.' : ''),
      drawTime);
  section(
      'placement', 'What changes',
      'Every square is a device on its node. Its colour is the part of the model that it holds: ' +
          'hue runs through the stages, lightness through the slices of a layer. ' +
          'The bar in a square on the right says how much of its state the device held before.' +
          (D.world.nodes.length > 1 ? ' Click a device to enlarge its node.' : ''),
      drawPlacement);
  section(
      'costs', 'Costs, and the chosen pairs',
      'What a device with the role before (column) lacks of the role after (row), on the scale beside it. ' +
          'Frames are the pairs that the planner chose.',
      drawCosts);
  section(
      'flows', 'Who sends to whom',
      'Bytes that travel, from those who held them to those who need them.', drawFlows);
  section(
      'rounds', 'Rounds',
      `When each device does what, predicted for ${
          D.predicted.cluster}. Above, the rate of all devices together. ` +
          (D.predicted.busiest_port_seconds === null ?
               'The plan is too large to be simulated message by message: a round lasts here as long as its busiest device needs.' :
               `The busiest port alone needs ${
                   milliseconds(D.predicted.busiest_port_seconds)} at its full rate.`),
      drawRounds);
  section(
      'memory', 'Memory',
      'Live bytes of a device over time, staging included: new tensors are allocated when they begin to arrive, and old ones released ' +
          'as soon as nobody needs them. The bound is proved before anything moves; the run never exceeds it.',
      drawMemory);
  section(
      'tensors', 'Tensors',
      'What happens to which tensors, over all devices; * stands for a number.', drawTensors);
  section(
      'devices', 'Devices', 'Choose a heading to sort.',
      (root) => root.append(tableBehind(
          'All ' + count(D.world.participants.length, 'participant'),
          () => deviceTable(D.world.participants, 'Devices'))));
  if (D.notes)
    section(
        'notes', 'Summary', `As ${D.maker} prints it.`,
        (root) => root.append(h('pre', {}, D.notes)));
}

/** Draws everything in the theme of now. */
function drawAll() {
  for (const {instance} of charts.splice(0)) instance.dispose();
  for (const {root, draw, isFixed} of sections) {
    while (root.children.length > isFixed) root.lastChild.remove();
    draw(root);
  }
}

const themes = {
  system: matchMedia('(prefers-color-scheme: dark)'),
  chosen: null,
  set(name) {
    document.documentElement.dataset.theme = name;
    document.getElementById('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
    document.getElementById('theme').setAttribute(
        'aria-label', `Use the ${name === 'dark' ? 'light' : 'dark'} theme`);
  },
  now() {
    return this.chosen || (this.system.matches ? 'dark' : 'light');
  },
};

function start() {
  themes.set(themes.now());
  document.body.append(hover.element, hover.spoken);
  drawTitle();
  declareSections();
  drawAll();
  document.getElementById('footer').append(
      h('p', {}, `Made by ${D.maker}. This page loads nothing: all of it is in this file.`));
  document.getElementById('theme').addEventListener('click', () => {
    themes.chosen = dark() ? 'light' : 'dark';
    themes.set(themes.chosen);
    drawAll();
  });
  themes.system.addEventListener('change', () => {
    themes.set(themes.now());
    drawAll();
  });
  addEventListener('resize', () => charts.forEach(({instance}) => instance.resize()));
  addEventListener('beforeprint', () => {
    themes.set('light');
    drawAll();
    // What has a view box can shrink to the page.
    document.querySelectorAll('.chart svg').forEach((picture) => {
      const {width, height} = picture.getBoundingClientRect();
      picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    });
  });
  addEventListener('afterprint', () => {
    themes.set(themes.now());
    drawAll();
  });
}

/** What goes wrong is said on the page. */
addEventListener('error', (event) => {
  const place = document.getElementById('errors');
  place.hidden = false;
  place.append(h('p', {class: 'alert'}, 'A picture is missing: ' + event.message));
  document.documentElement.dataset.state = 'failed';
});

start();
document.documentElement.dataset.state = document.documentElement.dataset.state || 'drawn';
document.documentElement.dataset.charts = charts.length;
