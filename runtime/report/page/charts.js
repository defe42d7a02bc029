// Totals, costs and flows.
'use strict';

const charts = [];

/** A chart that is drawn again when the theme changes. */
function chart(root, height, label, option, isLarge) {
  const element = h('div', { class: 'chart', role: 'img', 'aria-label': label,
    style: `height:${height}px` });
  root.append(element);
  const instance = echarts.init(element, null, { renderer: isLarge ? 'canvas' : 'svg' });
  const self = { instance, draw(newHeight) {
    if (newHeight) {
      element.style.height = newHeight + 'px';
      instance.resize();
    }
    instance.setOption({ ...base(), ...option() }, { notMerge: true });
  } };
  self.draw();
  charts.push(self);
  return self;
}

function base() {
  const t = theme();
  return { animation: false, textStyle: { fontFamily: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif', color: t.ink },
    tooltip: { confine: true, borderWidth: 0, padding: 0, backgroundColor: 'transparent',
      extraCssText: 'box-shadow:none' } };
}

function axis(extra) {
  const t = theme();
  return { axisLine: { lineStyle: { color: t.line } }, axisTick: { lineStyle: { color: t.line } },
    splitLine: { lineStyle: { color: t.line, opacity: 0.6 } }, axisLabel: { color: t.soft },
    nameTextStyle: { color: t.soft }, ...extra };
}

// ---- Totals.

function drawTotals(root) {
  const paper = S.paper_policy, bound = S.bound;
  const rows = [['this plan', S.moved_bytes, S.internode_bytes]];
  rows.push(['the bound', bound.moved_bytes, bound.internode_bytes]);
  if (paper) rows.push(["the paper's method", paper.moved_bytes, paper.internode_bytes]);
  const pair = h('div', { class: 'pair' });
  const left = h('figure', {}, h('h3', {}, 'Where the new state comes from'));
  const right = h('figure', {}, h('h3', {}, 'Bytes that move, against what is possible'));
  pair.append(left, right);
  root.append(pair);

  const inside = S.moved_bytes - S.internode_bytes;
  const parts = [['kept in place', S.kept_bytes, 'kept'], ['cast where it lands', S.derived_bytes, 'derived'],
    ['new padding', S.zeroed_bytes, 'zeroed'], ['from the same node', inside, 'inside'],
    ['from other nodes', S.internode_bytes, 'between']].filter(([, size]) => size > 0);
  const sentence = parts.map(([name, size]) => `${name} ${bytes(size)}`).join(', ');
  chart(left, 190, 'The new state: ' + sentence, () => {
    const t = theme();
    return {
      grid: { left: 8, right: 8, top: 6, bottom: 112 },
      legend: { bottom: 0, left: 0, orient: 'vertical', itemGap: 5, selectedMode: false, itemWidth: 14,
        textStyle: { color: t.ink, fontSize: 13 },
        formatter: (name) => {
          const part = parts.find(([other]) => other === name);
          return `${name}   ${bytes(part[1])}   ${percent(part[1], plan.stateBytes)}`;
        } },
      xAxis: { type: 'value', max: plan.stateBytes, show: false },
      yAxis: { type: 'category', data: [''], show: false },
      tooltip: { ...base().tooltip, trigger: 'item', formatter: ({ seriesName, value }) =>
        tooltip(seriesName, [['bytes', bytes(value)], ['share', percent(value, plan.stateBytes)]]) },
      series: parts.map(([name, size, color]) => ({ name, type: 'bar', stack: 'all', barWidth: 44,
        data: [size], itemStyle: { color: t[color], borderColor: t.card, borderWidth: 1 } })),
    };
  });
  chart(right, 190, rows.map(([name, all, between]) =>
    `${name} moves ${bytes(all)}, ${bytes(between)} between nodes`).join('; '), () => {
    const t = theme();
    const series = (name, value, color, label) => ({ name, type: 'bar', stack: 'all', barWidth: 24,
      data: rows.map(value), itemStyle: { color, borderColor: t.card, borderWidth: 1 },
      label: label && { show: true, position: 'right', color: t.ink, fontSize: 13,
        formatter: ({ dataIndex }) => bytes(rows[dataIndex][1]) } });
    const most = Math.max(...rows.map((row) => Math.max(row[1], row[2])));
    return {
      grid: { left: 150, right: 92, top: 4, bottom: 58 },
      legend: { bottom: 0, left: 0, selectedMode: false, textStyle: { color: t.ink }, itemWidth: 14 },
      tooltip: { ...base().tooltip, trigger: 'axis', axisPointer: { type: 'none' },
        formatter: (list) => {
          const [name, all, between] = rows[list[0].dataIndex];
          return tooltip(name, [['moves', bytes(all)], ['between nodes', bytes(between)]]);
        } },
      xAxis: axis({ type: 'value', max: most || 1, splitNumber: 4, axisLabel: { color: t.soft, formatter: shortBytes, showMaxLabel: false } }),
      yAxis: axis({ type: 'category', inverse: true, data: rows.map(([name]) => name),
        axisTick: { show: false }, axisLabel: { color: t.ink, fontSize: 13 } }),
      series: [series('between nodes', (row) => row[2], t.between),
        series('inside nodes', (row) => Math.max(0, row[1] - row[2]), t.inside, true)],
    };
  });
  root.append(tableBehind('Table', () => table([
    ['', ([name]) => name], ['moves', ([, all]) => bytes(all), ([, all]) => all],
    ['between nodes', ([, , between]) => bytes(between), ([, , between]) => between]], rows, 'Totals')));
}

// ---- The cost matrix.

/** Stages for roles, P3 for P3T1: what a role of the row lacks of the best of the column, in the mean. */
function byStage(matrix) {
  const group = (names) => {
    const stages = [...new Set(names.map((name) => name.replace(/T.*/, '')))];
    return [stages, names.map((name) => stages.indexOf(name.replace(/T.*/, '')))];
  };
  const [rows, rowOf] = group(matrix.rows), [columns, columnOf] = group(matrix.columns);
  const costs = rows.map(() => columns.map(() => 0)), sizes = rows.map(() => 0);
  matrix.costs.forEach((line, i) => {
    const least = columns.map(() => Infinity);
    line.forEach((cost, j) => { least[columnOf[j]] = Math.min(least[columnOf[j]], cost); });
    least.forEach((cost, j) => { costs[rowOf[i]][j] += cost; });
    ++sizes[rowOf[i]];
  });
  const pairs = new Map();
  for (const [i, j, devices] of matrix.pairs) {
    const key = rowOf[i] + ' ' + columnOf[j];
    pairs.set(key, (pairs.get(key) || 0) + devices);
  }
  return { rows, columns, costs: costs.map((line, i) => line.map((cost) => cost / sizes[i])),
    pairs: [...pairs].map(([key, devices]) => [...key.split(' ').map(Number), devices]) };
}

function drawCosts(root) {
  const whole = D.matrix;
  if (!whole)
    return root.append(h('p', { class: 'how' }, 'The matrix of this plan has too many roles to be shown.'));
  const isMany = whole.rows.length > 40 || whole.columns.length > 40;
  const coarse = isMany ? byStage(whole) : whole;
  const canSum = isMany && coarse.rows.length < whole.rows.length;
  let matrix = canSum ? coarse : whole;
  const tools = h('div', { class: 'tools' });
  root.append(tools);
  const figure = h('figure', {});
  root.append(figure);
  const height = () => matrix.rows.length * cellSize(matrix)[1] + 80;
  const option = () => costOption(matrix);
  const picture = chart(figure, height(), `What previous roles lack of current ones: ${matrix.rows.length} by ` +
    `${matrix.columns.length}, with ${count(matrix.pairs.length, 'chosen pair')}`, option, whole.rows.length * whole.columns.length > 2500);
  if (canSum)
    tools.append(choice('Rows and columns', [[coarse, 'stages'], [whole, 'roles']], matrix, (next) => {
      matrix = next;
      picture.draw(height());
    }), h('span', {}, 'Scroll over the picture to zoom, drag to move.'));
  else tools.remove();
  root.append(tableBehind('Table of the chosen pairs', () => table([
    ['role after', ([i]) => matrix.rows[i]], ['role before', ([, j]) => matrix.columns[j]],
    ['devices', ([, , n]) => String(n), ([, , n]) => n],
    ['lacks', ([i, j]) => bytes(matrix.costs[i][j]), ([i, j]) => matrix.costs[i][j]],
    ['the best before lacks', ([i]) => bytes(Math.min(...matrix.costs[i])), ([i]) => Math.min(...matrix.costs[i])]],
  matrix.pairs, 'Chosen pairs')));
}

/** Width and height of a cell: large enough for a number where they are few. */
function cellSize(matrix) {
  return [Math.max(1, Math.min(100, Math.floor(860 / matrix.columns.length))),
    Math.max(1, Math.min(34, Math.floor(620 / matrix.rows.length)))];
}

function costOption(matrix) {
  const t = theme();
  const [width, height] = cellSize(matrix);
  const most = Math.max(1, ...matrix.costs.map((line) => Math.max(...line)));
  const taken = new Map(matrix.pairs.map(([i, j, devices]) => [i + ' ' + j, devices]));
  const cells = matrix.costs.flatMap((line, i) => line.map((cost, j) => [j, i, cost]));
  const isLarge = width >= 64 && height >= 16;
  const gap = width < 8 || height < 8 ? 0 : 1;
  return {
    grid: { left: 84, top: 62, width: width * matrix.columns.length, height: height * matrix.rows.length },
    tooltip: { ...base().tooltip, formatter: ({ data: [j, i] }) => tooltip(
      `${matrix.rows[i]} after, ${matrix.columns[j]} before`, [['lacks', bytes(matrix.costs[i][j])],
        ['devices that go this way', String(taken.get(i + ' ' + j) || 0)]]) },
    visualMap: { min: 0, max: most, dimension: 2, seriesIndex: 0, orient: 'vertical',
      left: 84 + width * matrix.columns.length + 24, top: 62, itemHeight: 130, inRange: { color: t.ramp },
      text: [bytes(most), '0 B'], textStyle: { color: t.soft } },
    dataZoom: isLarge ? [] : [{ type: 'inside', xAxisIndex: 0 }, { type: 'inside', yAxisIndex: 0 }],
    xAxis: axis({ type: 'category', data: matrix.columns, position: 'top', name: 'role before', nameLocation: 'middle',
      nameGap: 34, axisTick: { show: false }, axisLabel: { color: t.soft, fontSize: 11 } }),
    yAxis: axis({ type: 'category', data: matrix.rows, inverse: true, name: 'role after', nameLocation: 'middle',
      nameGap: 58, axisTick: { show: false }, axisLabel: { color: t.soft, fontSize: 11, interval: Math.ceil(15 / height) - 1 } }),
    series: [
      { type: 'heatmap', data: cells, progressive: 0, itemStyle: { borderColor: t.card, borderWidth: gap },
        label: { show: isLarge, fontSize: 11, formatter: ({ data }) => (data[2] ? shortBytes(data[2]) : '0') } },
      { type: 'custom', silent: true, clip: true, encode: { x: 0, y: 1 }, data: matrix.pairs.map(([i, j]) => [j, i]),
        renderItem: (params, api) => {
          const [x, y] = api.coord([api.value(0), api.value(1)]), [w, height_] = api.size([1, 1]);
          const inset = w > 12 && height_ > 12 ? 2 : 0;
          return { type: 'rect', shape: { x: x - w / 2 + inset, y: y - height_ / 2 + inset, width: w - 2 * inset, height: height_ - 2 * inset, r: inset },
            style: { fill: 'none', stroke: t.ring, lineWidth: inset ? 2.5 : 1.5 } };
        } },
    ],
  };
}

// ---- Who sends to whom.

const flowKeys = {
  stages: { keys: ['prev', 'curr'].map((side) => (device) => {
    const role = plan.role(device, side);
    return role ? role.stage : -1;
  }), name: (key) => (key < 0 ? 'none' : 'P' + key), words: ['stage before', 'stage after'] },
  nodes: { keys: [(d) => plan.nodeOf[d], (d) => plan.nodeOf[d]], name: (key) => 'node ' + key, words: ['node', 'node'] },
  devices: { keys: [(d) => d, (d) => d], name: (key) => 'device ' + key, words: ['device', 'device'] },
};

function sumFlows(kind, devices) {
  const { keys } = flowKeys[kind];
  const sums = new Map();
  for (const [from, to, size] of D.flows) {
    if (devices && !devices.has(from) && !devices.has(to)) continue;
    const key = keys[0](from) + ' ' + keys[1](to);
    sums.set(key, (sums.get(key) || 0) + size);
  }
  return [...sums].map(([key, size]) => [...key.split(' ').map(Number), size])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

function flowColor(kind, key, side) {
  if (kind === 'stages') return key < 0 ? theme().soft : plan.stageColor(key, side);
  const device = kind === 'devices' ? key : [...Array(D.world.nodes[key]).keys()]
    .map((slot) => plan.firstOf[key] + slot).find((d) => plan.role(d, side));
  const role = device === undefined ? null : plan.role(device, side);
  return role ? plan.stageColor(role.stage, side) : theme().soft;
}

function sankeyOption(kind, flows) {
  const t = theme();
  const { name } = flowKeys[kind];
  const ends = [0, 1].map((i) => [...new Set(flows.map((flow) => flow[i]))].sort((a, b) => a - b));
  const total = (i, key) => flows.reduce((sum, flow) => sum + (flow[i] === key ? flow[2] : 0), 0);
  const roleOf = (i, key) => (kind === 'devices' ? ' ' + plan.roleName(key, i ? 'curr' : 'prev') : '');
  const node = (i) => (key) => ({ name: i + ':' + key, depth: i,
    itemStyle: { color: flowColor(kind, key, i ? 'curr' : 'prev'), borderWidth: 0 },
    label: { position: i ? 'right' : 'left', color: t.ink,
      formatter: () => `${name(key)}${roleOf(i, key)}  ${bytes(total(i, key))}` } });
  return {
    tooltip: { ...base().tooltip, formatter: ({ dataType, data }) => {
      if (dataType === 'node') {
        const [i, key] = data.name.split(':').map(Number);
        return tooltip(name(key), [[i ? 'receives' : 'sends', bytes(total(i, key))]]);
      }
      return tooltip(`${name(data.ends[0])} to ${name(data.ends[1])}`, [['bytes', bytes(data.value)]]);
    } },
    series: [{ type: 'sankey', left: 190, right: 190, top: 26, bottom: 8, nodeWidth: 12,
      nodeGap: Math.max(2, Math.min(14, 300 / Math.max(ends[0].length, ends[1].length))),
      layoutIterations: 0, draggable: false,
      data: [...ends[0].map(node(0)), ...ends[1].map(node(1))],
      links: flows.map(([from, to, value]) => ({ source: '0:' + from, target: '1:' + to, value, ends: [from, to] })),
      lineStyle: { color: 'gradient', opacity: dark() ? 0.5 : 0.38, curveness: 0.5 },
      emphasis: { focus: 'adjacency', lineStyle: { opacity: 0.75 } } }],
    graphic: [['left', 'senders'], ['right', 'receivers']].map(([side, text]) => ({ type: 'text', [side]: 100, top: 2,
      style: { text, fill: t.soft, font: '13px system-ui, sans-serif' } })),
  };
}

function flowMatrixOption(kind, flows) {
  const t = theme();
  const { name } = flowKeys[kind];
  const ends = [0, 1].map((i) => [...new Set(flows.map((flow) => flow[i]))].sort((a, b) => a - b));
  const most = Math.max(1, ...flows.map((flow) => flow[2]));
  const cells = flows.map(([from, to, size]) => [ends[1].indexOf(to), ends[0].indexOf(from), size]);
  return {
    grid: { left: 90, right: 130, top: 64, bottom: 10 },
    tooltip: { ...base().tooltip, formatter: ({ data }) => tooltip(
      `${name(ends[0][data[1]])} to ${name(ends[1][data[0]])}`, [['bytes', bytes(data[2])]]) },
    visualMap: { min: 0, max: most, right: 0, top: 64, itemHeight: 150,
      inRange: { color: t.ramp.slice(1) }, text: [bytes(most), '0 B'], textStyle: { color: t.soft } },
    dataZoom: [{ type: 'inside', xAxisIndex: 0 }, { type: 'inside', yAxisIndex: 0 }],
    xAxis: axis({ type: 'category', position: 'top', data: ends[1].map(name), name: 'receiver', nameLocation: 'middle', nameGap: 34,
      axisLabel: { color: t.soft, fontSize: 11 }, axisTick: { show: false } }),
    yAxis: axis({ type: 'category', inverse: true, data: ends[0].map(name), name: 'sender', nameLocation: 'middle', nameGap: 72,
      axisLabel: { color: t.soft, fontSize: 11 }, axisTick: { show: false } }),
    series: [{ type: 'heatmap', data: cells, progressive: 0, itemStyle: { borderColor: t.card, borderWidth: cells.length > 2000 ? 0 : 1 } }],
  };
}

function drawFlows(root) {
  if (!D.flows.length)
    return root.append(h('p', {}, 'No device sends anything: every role finds its state where it is.'));
  const participants = D.world.participants.length;
  let kind = participants <= 32 ? 'devices' : 'stages', view = 'ribbons';
  let node = -1;
  const chosen = () => node < 0 ? null : new Set([...Array(D.world.nodes[node]).keys()].map((s) => plan.firstOf[node] + s));
  const figure = h('figure', {});
  const option = () => {
    const flows = sumFlows(kind, chosen());
    const isMatrix = view === 'matrix' || flows.length > 700;
    return isMatrix ? flowMatrixOption(kind, flows) : sankeyOption(kind, flows);
  };
  const limit = (list) => list.filter(([value]) => value !== 'devices' || participants <= 2048);
  const tools = h('div', { class: 'tools' },
    choice('By', limit([['stages', 'stage'], ['nodes', 'node'], ['devices', 'device']]), kind, (next) => { kind = next; picture.draw(); }),
    choice('As', [['ribbons', 'ribbons'], ['matrix', 'matrix']], view, (next) => { view = next; picture.draw(); }));
  const select = h('select', { 'aria-label': 'Only flows of this node', onchange: () => { node = Number(select.value); picture.draw(); } },
    h('option', { value: -1 }, 'all nodes'), D.world.nodes.map((_, n) => h('option', { value: n }, 'from or to node ' + n)));
  tools.append(select);
  root.append(tools, figure);
  const height = Math.max(360, Math.min(620, 22 * Math.min(participants, 24) + 60));
  const picture = chart(figure, height, `${count(D.flows.length, 'pair')} of devices send ${bytes(S.moved_bytes)}`, option, participants > 64);
  root.append(tableBehind('Table', () => {
    const flows = sumFlows(kind, chosen());
    const { name, words } = flowKeys[kind];
    return table([['from ' + words[0], ([from]) => name(from)], ['to ' + words[1], ([, to]) => name(to)],
      ['bytes', ([, , size]) => bytes(size), ([, , size]) => size]], flows, 'Who sends to whom');
  }));
}
