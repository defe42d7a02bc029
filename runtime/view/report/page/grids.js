// The devices on their nodes, before and after, coloured by role.
'use strict';

/** Columns of devices in the box of a node. */
function columnsOf(size) {
  if (size <= 3) return size;
  const root = Math.ceil(Math.sqrt(size));
  return size % root && size % (root + 1) === 0 ? root + 1 : root;
}

/** The largest cells with which all nodes fit. */
function layoutGrid(nodes, width, height, largest) {
  const size = Math.max(...nodes.map((node) => D.world.nodes[node]));
  const columns = columnsOf(size), rows = Math.ceil(size / columns);
  for (let cell = largest;; cell -= cell > 4 ? 1 : 0.5) {
    const isLarge = cell >= 24;
    const pad = isLarge ? 7 : cell >= 6 ? 2 : 1, gap = isLarge ? 12 : cell >= 6 ? 4 : 2;
    const head = isLarge ? 19 : 0;
    const nodeWidth = columns * cell + 2 * pad, nodeHeight = rows * cell + 2 * pad + head;
    const fit = Math.max(1, Math.floor((width + gap) / (nodeWidth + gap)));
    const lines = Math.ceil(nodes.length / fit);
    if (lines * (nodeHeight + gap) - gap > height && cell > 1) continue;
    if (nodeWidth > width && cell > 1) continue;
    const across = Math.ceil(nodes.length / lines);
    return {
      nodes,
      columns,
      cell,
      pad,
      gap,
      head,
      isLarge,
      across,
      nodeWidth,
      nodeHeight,
      width: across * (nodeWidth + gap) - gap,
      height: lines * (nodeHeight + gap) - gap
    };
  }
}

function nodeOrigin(layout, index) {
  return [
    (index % layout.across) * (layout.nodeWidth + layout.gap),
    Math.floor(index / layout.across) * (layout.nodeHeight + layout.gap)
  ];
}

function cellOrigin(layout, device) {
  const node = plan.nodeOf[device];
  const slot = device - plan.firstOf[node];
  const [x, y] = nodeOrigin(layout, layout.nodes.indexOf(node));
  return [
    x + layout.pad + (slot % layout.columns) * layout.cell,
    y + layout.pad + layout.head + Math.floor(slot / layout.columns) * layout.cell
  ];
}

function deviceAt(layout, x, y) {
  const across = Math.floor(x / (layout.nodeWidth + layout.gap));
  const down = Math.floor(y / (layout.nodeHeight + layout.gap));
  const index = down * layout.across + across;
  if (across < 0 || across >= layout.across || !(index in layout.nodes)) return -1;
  const [left, top] = nodeOrigin(layout, index);
  const column = Math.floor((x - left - layout.pad) / layout.cell);
  const row = Math.floor((y - top - layout.pad - layout.head) / layout.cell);
  const slot = row * layout.columns + column;
  const isInside = column >= 0 && column < layout.columns && row >= 0 &&
      slot < D.world.nodes[layout.nodes[index]];
  return isInside ? plan.firstOf[layout.nodes[index]] + slot : -1;
}

function drawCell(layout, side, device, group) {
  const t = theme(), role = plan.role(device, side), inset = 2;
  const [x, y] = cellOrigin(layout, device);
  const edge = layout.cell - 2 * inset;
  const fill = role ? plan.color(role, side) : t.faint;
  group.append(svg('rect', {
    x: x + inset,
    y: y + inset,
    width: edge,
    height: edge,
    rx: 4,
    fill,
    stroke: role ? 'none' : t.line,
    'stroke-dasharray': role ? undefined : '3 3'
  }));
  const name = role ? role.name : plan.roleName(device, side) === 'lost' ? 'lost' : '';
  const font = Math.min(13, (edge - 4) / Math.max(4, name.length) / 0.6);
  const ink = role ? inkOn(fill) : t.soft;
  const text = (content, dy, size, weight) => group.append(
      svg('text', {
        x: x + layout.cell / 2,
        y: y + layout.cell / 2 + dy,
        'text-anchor': 'middle',
        'font-size': size,
        'font-weight': weight,
        fill: ink
      },
          content));
  if (font >= 6) text(name, layout.cell >= 40 ? 1 : 4, font, 600);
  if (layout.cell >= 40) text(String(device), 15, 10, 400);
  const p = plan.program(device);
  const landed = p ? p.curr_bytes - p.derived : 0;
  if (side === 'curr' && role && landed && layout.cell >= 30) {
    const bar = {x: x + 7, y: y + layout.cell - 10, height: 4, rx: 2, fill: ink};
    const room = layout.cell - 14;
    group.append(svg('rect', {...bar, width: room, opacity: 0.25}));
    const kept = p.kept / landed;
    if (kept > 0) group.append(svg('rect', {...bar, width: room * Math.min(1, kept)}));
  }
}

/** Thousands of cells: one path a colour. */
function drawSmallCells(layout, side, group) {
  const paths = new Map();
  const edge = layout.cell - (layout.cell >= 6 ? 1 : 0.25);
  for (const node of layout.nodes)
    for (let slot = 0; slot < D.world.nodes[node]; ++slot) {
      const device = plan.firstOf[node] + slot;
      const role = plan.role(device, side);
      const fill = role ? plan.color(role, side) : theme().line;
      const [x, y] = cellOrigin(layout, device);
      paths.set(
          fill,
          (paths.get(fill) || '') + `M${x.toFixed(1)} ${y.toFixed(1)}h${edge}v${edge}h${- edge}z`);
    }
  for (const [fill, d] of paths) group.append(svg('path', {d, fill}));
}

const hover = {
  element: h('div', {class: 'tip', hidden: true}),
  /** What a screen reader says of the device that keys have reached. */
  spoken: h('p', {class: 'spoken', 'aria-live': 'polite'}),
  show(title, rows, x, y) {
    this.element.replaceChildren(...tooltip(title, rows).childNodes);
    this.element.hidden = false;
    const {offsetWidth: w, offsetHeight: height} = this.element;
    this.element.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + 'px';
    this.element.style.top = Math.max(4, Math.min(y + 14, innerHeight - height - 8)) + 'px';
  },
  hide() {
    this.element.hidden = true;
  },
};

/** One grid. Arrow keys walk through its devices, Enter opens a node. */
function drawGrid(side, nodes, options) {
  const layout = layoutGrid(nodes, 560, options.height, options.largest);
  const t = theme();
  const picture = svg('svg', {
    class: 'grid',
    tabindex: '0',
    role: 'img',
    viewBox: `0 0 560 ${Math.max(layout.height, 1)}`,
    'aria-label': options.label
  });
  const group = svg('g', {transform: `translate(${(560 - layout.width) / 2} 0)`});
  nodes.forEach((node, index) => {
    const [x, y] = nodeOrigin(layout, index);
    group.append(svg('rect', {
      x,
      y,
      width: layout.nodeWidth,
      height: layout.nodeHeight,
      rx: layout.isLarge ? 7 : 2,
      fill: t.faint,
      stroke: t.line
    }));
    if (layout.isLarge)
      group.append(
          svg('text', {x: x + layout.pad + 2, y: y + 17, 'font-size': 12, fill: t.soft},
              'node ' + node));
  });
  if (!layout.isLarge)
    drawSmallCells(layout, side, group);
  else
    for (const node of nodes)
      for (let slot = 0; slot < D.world.nodes[node]; ++slot)
        drawCell(layout, side, plan.firstOf[node] + slot, group);
  const ring =
      svg('rect', {fill: 'none', stroke: t.ink, 'stroke-width': 2, rx: 3, visibility: 'hidden'});
  group.append(ring);
  picture.append(group);

  let current = -1;
  const select = (device, x, y) => {
    current = device;
    if (device < 0) return ring.setAttribute('visibility', 'hidden'), hover.hide();
    const [left, top] = cellOrigin(layout, device);
    fill(
        ring, {x: left, y: top, width: layout.cell, height: layout.cell, visibility: 'visible'},
        []);
    hover.show('device ' + device, plan.facts(device), x, y);
  };
  const local = (event) => {
    const matrix = group.getScreenCTM().inverse();
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    return deviceAt(layout, point.x, point.y);
  };
  picture.addEventListener('mousemove', (e) => select(local(e), e.clientX, e.clientY));
  picture.addEventListener('mouseleave', () => select(-1));
  picture.addEventListener('blur', () => select(-1));
  picture.addEventListener('click', (e) => {
    const device = local(e);
    if (device >= 0 && options.onNode) options.onNode(plan.nodeOf[device]);
  });
  picture.addEventListener('keydown', (e) => {
    const steps =
        {ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns};
    const first = plan.firstOf[nodes[0]];
    const last = plan.firstOf[nodes.at(-1)] + D.world.nodes[nodes.at(-1)] - 1;
    if (e.key in steps) {
      e.preventDefault();
      const device = current < 0 ? first : Math.min(last, Math.max(first, current + steps[e.key]));
      const box = picture.getBoundingClientRect();
      select(device, box.left + box.width / 3, box.top + box.height / 3);
      hover.spoken.textContent =
          'device ' + device + ': ' + plan.facts(device).map((row) => row.join(' ')).join(', ');
    } else if (e.key === 'Enter' && current >= 0 && options.onNode) {
      options.onNode(plan.nodeOf[current]);
    } else if (e.key === 'Escape')
      select(-1);
  });
  return picture;
}

function gridPair(nodes, options) {
  return h(
      'div', {class: 'pair'},
      [['prev', 'Before', D.prev], ['curr', 'After', D.curr]].map(
          ([side, word, label]) =>
              h('figure', {}, h('h3', {}, `${word}: ${label}`), drawGrid(side, nodes, {
                  ...options,
                  label: `${word}: the role of every device on ${count(nodes.length, 'node')}`
                }))));
}

/** A scale of the colours on one side. */
function colorLegend() {
  const stage = (s) =>
      h('span', {}, h('i', {style: `background:${plan.stageColor(s, 'curr')}`}), 'P' + s);
  const total = plan.stages.curr;
  const shown = [...Array(total).keys()].filter(
      (s) => total <= 8 || s % Math.ceil(total / 8) === 0 || s === total - 1);
  return h(
      'div', {class: 'legend'}, h('span', {}, 'stages after:'), shown.map(stage),
      h('span', {}, h('i', {style: `background:${partColor(0.5, 0)}`}),
        h('i', {style: `background:${partColor(0.5, 0.5)}`}),
        h('i', {style: `background:${partColor(0.5, 1)}`}), 'tensor ranks, first to last'),
      h('span', {},
        h('i', {style: `background:${theme().faint};outline:1px dashed ${theme().soft}`}),
        'no role'));
}

function drawPlacement(root) {
  const nodes = D.world.nodes.map((_, node) => node);
  const detail = h('div', {class: 'detail', hidden: true, 'aria-live': 'polite'});
  const open = (node) => {
    detail.hidden = false;
    detail.replaceChildren(
        h('h3', {}, 'Node ' + node), gridPair([node], {height: 200, largest: 58}),
        deviceTable(
            [...Array(D.world.nodes[node]).keys()].map((slot) => plan.firstOf[node] + slot),
            'Devices of node ' + node));
  };
  root.append(gridPair(nodes, {height: 430, largest: 72, onNode: open}), colorLegend(), detail);
}

const deviceColumns = [
  ['device', (d) => String(d), (d) => d],
  ['node', (d) => String(plan.nodeOf[d]), (d) => plan.nodeOf[d]],
  ['before', (d) => plan.roleName(d, 'prev')],
  ['after', (d) => plan.roleName(d, 'curr')],
  ...[['keeps', 'kept'], ['derives', 'derived'], ['receives', 'received']].map(
      ([title, field]) =>
          [title, (d) => bytes((plan.program(d) || {})[field] || 0),
           (d) => (plan.program(d) || {})[field] || 0]),
  ['of these from other nodes', (d) => bytes(plan.internodeIn(d)), (d) => plan.internodeIn(d)],
  [
    'sends', (d) => bytes((plan.program(d) || {}).sent || 0),
    (d) => (plan.program(d) || {}).sent || 0
  ],
  [
    'peak', (d) => bytes((plan.program(d) || {}).peak || 0),
    (d) => (plan.program(d) || {}).peak || 0
  ],
  ['peak / max(prev, curr)', (d) => ratioOf(d).toFixed(4), (d) => ratioOf(d)],
];

function ratioOf(device) {
  const p = plan.program(device);
  return p && plan.stateOf(p) ? p.peak / plan.stateOf(p) : 0;
}

function deviceTable(devices, caption) {
  const columns = [...deviceColumns];
  if (D.measured) {
    const rank = (d) => plan.rankOf.get(d) ?? -1;
    const time = (d) => D.measured.device_seconds[rank(d)] || 0;
    const peak = (d) => D.measured.device_peaks[rank(d)] || 0;
    columns.push(
        ['measured time', (d) => seconds(time(d)), time],
        ['measured peak', (d) => bytes(peak(d)), peak]);
  }
  return table(columns, devices, caption);
}
