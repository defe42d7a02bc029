// Who sends to whom.
'use strict';

const flowKeys = {
  stages: {
    keys: ['prev', 'curr'].map((side) => (device) => {
      const role = plan.role(device, side);
      return role ? role.stage : -1;
    }),
    name: (key) => (key < 0 ? 'none' : 'P' + key),
    words: ['stage before', 'stage after']
  },
  nodes: {
    keys: [(d) => plan.nodeOf[d], (d) => plan.nodeOf[d]],
    name: (key) => 'node ' + key,
    words: ['node', 'node']
  },
  devices:
      {keys: [(d) => d, (d) => d], name: (key) => 'device ' + key, words: ['device', 'device']},
};

function sumFlows(kind, devices) {
  const {keys} = flowKeys[kind];
  const sums = new Map();
  for (const [from, to, size] of D.flows) {
    if (devices && !devices.has(from) && !devices.has(to)) continue;
    const key = keys[0](from) + ' ' + keys[1](to);
    sums.set(key, (sums.get(key) || 0) + size);
  }
  return [...sums]
      .map(([key, size]) => [...key.split(' ').map(Number), size])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

function flowColor(kind, key, side) {
  if (kind === 'stages') return key < 0 ? theme().soft : plan.stageColor(key, side);
  const device = kind === 'devices' ? key : [
    ...Array(D.world.nodes[key]).keys()
  ].map((slot) => plan.firstOf[key] + slot).find((d) => plan.role(d, side));
  const role = device === undefined ? null : plan.role(device, side);
  return role ? plan.stageColor(role.stage, side) : theme().soft;
}

function sankeyOption(kind, flows) {
  const t = theme();
  const {name} = flowKeys[kind];
  const ends = [0, 1].map((i) => [...new Set(flows.map((flow) => flow[i]))].sort((a, b) => a - b));
  const total = (i, key) => flows.reduce((sum, flow) => sum + (flow[i] === key ? flow[2] : 0), 0);
  const roleOf = (i, key) =>
      (kind === 'devices' ? ' ' + plan.roleName(key, i ? 'curr' : 'prev') : '');
  const node = (i) => (key) => ({
    name: i + ':' + key,
    depth: i,
    itemStyle: {color: flowColor(kind, key, i ? 'curr' : 'prev'), borderWidth: 0},
    label: {
      position: i ? 'right' : 'left',
      color: t.ink,
      formatter: () => `${name(key)}${roleOf(i, key)}  ${bytes(total(i, key))}`
    }
  });
  return {
    tooltip: {
      ...base().tooltip,
      formatter: ({dataType, data}) => {
        if (dataType === 'node') {
          const [i, key] = data.name.split(':').map(Number);
          return tooltip(name(key), [[i ? 'receives' : 'sends', bytes(total(i, key))]]);
        }
        return tooltip(
            `${name(data.ends[0])} to ${name(data.ends[1])}`, [['bytes', bytes(data.value)]]);
      }
    },
    series: [{
      type: 'sankey',
      left: 190,
      right: 190,
      top: 26,
      bottom: 8,
      nodeWidth: 12,
      nodeGap: Math.max(2, Math.min(14, 300 / Math.max(ends[0].length, ends[1].length))),
      layoutIterations: 0,
      draggable: false,
      data: [...ends[0].map(node(0)), ...ends[1].map(node(1))],
      links: flows.map(
          ([from, to, value]) =>
              ({source: '0:' + from, target: '1:' + to, value, ends: [from, to]})),
      lineStyle: {color: 'gradient', opacity: dark() ? 0.5 : 0.38, curveness: 0.5},
      emphasis: {focus: 'adjacency', lineStyle: {opacity: 0.75}}
    }],
    graphic: [['left', 'senders'], ['right', 'receivers']].map(
        ([side, text]) => ({
          type: 'text',
          [side]: 100,
          top: 2,
          style: {text, fill: t.soft, font: '13px system-ui, sans-serif'}
        })),
  };
}

function flowMatrixOption(kind, flows) {
  const t = theme();
  const {name} = flowKeys[kind];
  const ends = [0, 1].map((i) => [...new Set(flows.map((flow) => flow[i]))].sort((a, b) => a - b));
  const most = Math.max(1, ...flows.map((flow) => flow[2]));
  const cells = flows.map(([from, to, size]) => [ends[1].indexOf(to), ends[0].indexOf(from), size]);
  return {
    grid: {left: 90, right: 130, top: 64, bottom: 10},
    tooltip: {
      ...base().tooltip,
      formatter: ({data}) => tooltip(
          `${name(ends[0][data[1]])} to ${name(ends[1][data[0]])}`, [['bytes', bytes(data[2])]])
    },
    visualMap: {
      min: 0,
      max: most,
      right: 0,
      top: 64,
      itemHeight: 150,
      inRange: {color: t.ramp.slice(1)},
      text: [bytes(most), '0 B'],
      textStyle: {color: t.soft}
    },
    dataZoom: [{type: 'inside', xAxisIndex: 0}, {type: 'inside', yAxisIndex: 0}],
    xAxis: axis({
      type: 'category',
      position: 'top',
      data: ends[1].map(name),
      name: 'receiver',
      nameLocation: 'middle',
      nameGap: 34,
      axisLabel: {color: t.soft, fontSize: 11},
      axisTick: {show: false}
    }),
    yAxis: axis({
      type: 'category',
      inverse: true,
      data: ends[0].map(name),
      name: 'sender',
      nameLocation: 'middle',
      nameGap: 72,
      axisLabel: {color: t.soft, fontSize: 11},
      axisTick: {show: false}
    }),
    series: [{
      type: 'heatmap',
      data: cells,
      progressive: 0,
      itemStyle: {borderColor: t.card, borderWidth: cells.length > 2000 ? 0 : 1}
    }],
  };
}

function drawFlows(root) {
  if (!D.flows.length)
    return root.append(
        h('p', {}, 'No device sends anything: every role finds its state where it is.'));
  const participants = D.world.participants.length;
  let kind = participants <= 32 ? 'devices' : 'stages', view = 'ribbons';
  let node = -1;
  const chosen = () => node < 0 ?
      null :
      new Set([...Array(D.world.nodes[node]).keys()].map((s) => plan.firstOf[node] + s));
  const figure = h('figure', {});
  const option = () => {
    const flows = sumFlows(kind, chosen());
    const isMatrix = view === 'matrix' || flows.length > 700;
    return isMatrix ? flowMatrixOption(kind, flows) : sankeyOption(kind, flows);
  };
  const limit = (list) => list.filter(([value]) => value !== 'devices' || participants <= 2048);
  const tools =
      h('div', {class: 'tools'},
        choice(
            'By', limit([['stages', 'stage'], ['nodes', 'node'], ['devices', 'device']]), kind,
            (next) => {
              kind = next;
              picture.draw();
            }),
        choice('As', [['ribbons', 'ribbons'], ['matrix', 'matrix']], view, (next) => {
          view = next;
          picture.draw();
        }));
  const select =
      h('select', {
        'aria-label': 'Only flows of this node',
        onchange: () => {
          node = Number(select.value);
          picture.draw();
        }
      },
        h('option', {value: -1}, 'all nodes'),
        D.world.nodes.map((_, n) => h('option', {value: n}, 'from or to node ' + n)));
  tools.append(select);
  root.append(tools, figure);
  const height = Math.max(360, Math.min(620, 22 * Math.min(participants, 24) + 60));
  const picture = chart(
      figure, height, `${count(D.flows.length, 'pair')} of devices send ${bytes(S.moved_bytes)}`,
      option, participants > 64);
  root.append(tableBehind('Table', () => {
    const flows = sumFlows(kind, chosen());
    const {name, words} = flowKeys[kind];
    return table(
        [
          ['from ' + words[0], ([from]) => name(from)], ['to ' + words[1], ([, to]) => name(to)],
          ['bytes', ([, , size]) => bytes(size), ([, , size]) => size]
        ],
        flows, 'Who sends to whom');
  }));
}
