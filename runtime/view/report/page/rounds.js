// Rounds over time.
'use strict';

const milliseconds = (value) => seconds(value).replace('.00 s', ' s');

/** Rows of the timeline: devices, or nodes with the span of their devices. */
function timelineRows(clock, node) {
  const participants = D.world.participants;
  const devices = node >= 0 ? participants.filter((d) => plan.nodeOf[d] === node) : participants;
  if (devices.length <= 64)
    return devices.map((device) => ({name: 'device ' + device, devices: [device]}));
  const groups = new Map();
  for (const device of devices) {
    const key = plan.nodeOf[device];
    if (!groups.has(key)) groups.set(key, {name: 'node ' + key, devices: []});
    groups.get(key).devices.push(device);
  }
  return [...groups.values()];
}

/** One bar a row and round: [row, begin, end, round, sent, received]. */
function timelineBars(clock, rows) {
  const bars = [];
  rows.forEach((row, index) => {
    const ends = row.devices.map((device) => clock.endsOf(device));
    const tracks = row.devices.map(plan.track);
    for (let round = 0; round < plan.roundCount; ++round) {
      let begin = Infinity, end = 0, sent = 0, received = 0;
      row.devices.forEach((_, i) => {
        begin = Math.min(begin, round ? ends[i][round - 1] : 0);
        end = Math.max(end, ends[i][round]);
        sent += (tracks[i] && tracks[i].sent[round]) || 0;
        received += (tracks[i] && tracks[i].received[round]) || 0;
      });
      if (end > begin)
        bars.push(
            [index, begin, end, round, sent / row.devices.length, received / row.devices.length]);
    }
  });
  return bars;
}

/** What all devices receive over time: [from, bytes a second]. */
function ratesOver(clock) {
  const bins = 240, width = clock.seconds / bins || 1;
  const sums = new Float64Array(bins);
  for (const device of D.world.participants) {
    const track = plan.track(device), ends = clock.endsOf(device);
    for (let round = 0; track && round < track.received.length; ++round) {
      const begin = round ? ends[round - 1] : 0, end = ends[round];
      if (!track.received[round] || end <= begin) continue;
      const rate = track.received[round] / (end - begin);
      for (let i = Math.floor(begin / width); i < bins && i * width < end; ++i)
        sums[i] += (rate * (Math.min(end, (i + 1) * width) - Math.max(begin, i * width))) / width;
    }
  }
  return [...sums, 0].map((rate, i) => [i * width, rate]);
}

function timelineOption(clock, rows, height) {
  const t = theme();
  const bars = timelineBars(clock, rows);
  const most = Math.max(1, ...bars.map((bar) => Math.max(bar[4], bar[5])));
  const rates = ratesOver(clock);
  const top = 92;
  const x = {type: 'value', min: 0, max: clock.seconds || 1};
  return {
    grid: [
      {left: 84, right: 34, top: 18, height: top - 28},
      {left: 84, right: 34, top: top + 14, bottom: 76}
    ],
    tooltip: {
      ...base().tooltip,
      formatter: ({seriesIndex, data}) => seriesIndex === 0 ?
          tooltip(
              'all devices',
              [['from', milliseconds(data[0])], ['receive', bytes(data[1]) + '/s']]) :
          tooltip(
              `${rows[data[0]].name}, round ${data[3]}`,
              [
                ['from', milliseconds(data[1])], ['to', milliseconds(data[2])],
                ['sends', bytes(data[4])], ['receives', bytes(data[5])],
                ...(rows[data[0]].devices.length > 1 ?
                        [['', 'mean of ' + count(rows[data[0]].devices.length, 'device')]] :
                        [])
              ])
    },
    dataZoom: [
      {type: 'inside', xAxisIndex: [0, 1], filterMode: 'weakFilter'}, {
        type: 'slider',
        xAxisIndex: [0, 1],
        filterMode: 'weakFilter',
        bottom: 8,
        height: 20,
        borderColor: t.line,
        textStyle: {color: t.soft},
        labelFormatter: milliseconds,
        showDataShadow: false,
        brushSelect: false
      }
    ],
    xAxis: [
      axis({
        ...x,
        gridIndex: 0,
        axisLabel: {show: false},
        axisTick: {show: false},
        splitLine: {show: false}
      }),
      axis({
        ...x,
        gridIndex: 1,
        position: 'bottom',
        axisLabel: {color: t.soft, formatter: milliseconds, showMaxLabel: false}
      })
    ],
    yAxis: [
      axis({
        type: 'value',
        gridIndex: 0,
        splitNumber: 2,
        axisLabel: {color: t.soft, formatter: (v) => shortBytes(v) + '/s'}
      }),
      axis({
        type: 'category',
        gridIndex: 1,
        inverse: true,
        data: rows.map((row) => row.name),
        axisTick: {show: false},
        axisLabel: {color: t.soft, fontSize: 11}
      })
    ],
    series: [
      {
        type: 'line',
        xAxisIndex: 0,
        yAxisIndex: 0,
        data: rates,
        step: 'end',
        showSymbol: false,
        itemStyle: {color: t.inside},
        lineStyle: {width: 1, color: t.inside},
        areaStyle: {color: t.inside, opacity: 0.5}
      },
      {
        type: 'custom',
        progressive: 0,
        xAxisIndex: 1,
        yAxisIndex: 1,
        encode: {x: [1, 2], y: 0},
        data: bars,
        clip: true,
        renderItem: (params, api) => {
          const [x0, y] = api.coord([api.value(1), api.value(0)]),
                     [x1] = api.coord([api.value(2), api.value(0)]);
          const band = api.size([0, 1])[1];
          const busy = Math.max(api.value(4), api.value(5));
          const edge = band > 8 ? 2 : 0.5;
          return {
            type: 'rect',
            shape: {
              x: x0,
              y: y - band / 2 + edge / 2,
              width: Math.max(0.5, x1 - x0 - (x1 - x0 > 4 ? 1 : 0.3)),
              height: band - edge
            },
            style: {
              fill: busy > 0 ? rampColor(0.14 + 0.86 * busy / most) : t.faint,
              stroke: busy > 0 ? 'none' : t.line,
              lineWidth: 0.5
            }
          };
        }
      },
    ],
  };
}

function timelineScale() {
  const {ramp} = theme();
  return h(
      'div', {class: 'legend'},
      h('span', {}, 'a bar is a round; in it the device moves',
        h('span', {class: 'ramp', style: `background:linear-gradient(90deg, ${ramp.join(',')})`}),
        'little … most'),
      h('span', {},
        h('i', {style: `background:${theme().faint};outline:1px solid ${theme().line}`}),
        'nothing: it copies, or waits for others'));
}

function drawRounds(root) {
  let clock = predicted, node = -1;
  const height = (rows) =>
      Math.max(300, Math.min(860, 190 + rows.length * (rows.length > 40 ? 9 : 17)));
  const rows = () => timelineRows(clock, node);
  const tools = h('div', {class: 'tools'});
  if (measured && !measured.isEmpty)
    tools.append(
        choice('Times', [[predicted, 'predicted'], [measured, 'measured']], clock, (next) => {
          clock = next;
          picture.draw();
        }));
  const canZoom = D.world.participants.length > 64;
  if (canZoom) {
    const select =
        h('select', {
          'aria-label': 'Whose rounds',
          onchange: () => {
            node = Number(select.value);
            picture.draw();
          }
        },
          h('option', {value: -1}, 'all, by node'),
          D.world.nodes.map((_, n) => h('option', {value: n}, 'devices of node ' + n)));
    tools.append(h('span', {}, 'Rows '), select);
  }
  tools.append(h('span', {}, 'Scroll over the picture to zoom, drag to move.'));
  const figure = h('figure', {});
  root.append(tools, figure);
  const picture = chart(
      figure, height(rows()),
      `${count(plan.roundCount, 'round')} over ${milliseconds(clock.seconds)}`,
      () => timelineOption(clock, rows()), rows().length * plan.roundCount > 3000);
  root.append(timelineScale());
  if (measured && !measured.isEmpty) drawRoundComparison(root);
  root.append(tableBehind('Table of the rounds', () => {
    const columns = [
      ['round', String, (r) => r],
      ['received', (r) => bytes(D.rounds.moved[r]), (r) => D.rounds.moved[r]],
      ['busiest port', (r) => bytes(D.rounds.max_port[r]), (r) => D.rounds.max_port[r]],
      ['messages', (r) => String(D.rounds.messages[r]), (r) => D.rounds.messages[r]],
      ['predicted begin', (r) => milliseconds(predicted.begin(r)), (r) => predicted.begin(r)],
      ['predicted end', (r) => milliseconds(predicted.end(r)), (r) => predicted.end(r)]
    ];
    if (measured && !measured.isEmpty)
      columns.push(
          ['measured begin', (r) => milliseconds(measured.begin(r)), (r) => measured.begin(r)],
          ['measured end', (r) => milliseconds(measured.end(r)), (r) => measured.end(r)]);
    return table(columns, [...Array(plan.roundCount).keys()], 'Rounds');
  }));
}

/** How long each round takes, as predicted and as measured. */
function drawRoundComparison(root) {
  const figure = h(
      'figure', {},
      h('h3', {style: 'margin-top:1.2rem'},
        'The longest that a device takes for each round: predicted for the cluster, and measured here'));
  root.append(figure);
  const times = (clock) => D.rounds.moved.map((_, r) => clock.longest(r));
  const both = [['predicted', times(predicted)], ['measured', times(measured)]];
  chart(
      figure, 280,
      both.map(
              ([name, list]) =>
                  `${name}: ${milliseconds(list.reduce((a, b) => Math.max(a, b), 0))} at most`)
          .join('; '),
      () => {
        const t = theme();
        const rounds = D.rounds.moved.map((_, r) => r);
        const part = (i) => ({left: 84, right: 20, top: 26 + i * 128, height: 84});
        return {
          title: both.map(([text], i) => ({
                            text,
                            left: 84,
                            top: i * 128 + 2,
                            textStyle: {color: t.soft, fontSize: 12, fontWeight: 600}
                          })),
          grid: [part(0), part(1)],
          axisPointer: {link: [{xAxisIndex: 'all'}]},
          tooltip: {
            ...base().tooltip,
            trigger: 'axis',
            formatter: (list) => tooltip(
                'round ' + list[0].dataIndex,
                both.map(([name, values]) => [name, milliseconds(values[list[0].dataIndex])]))
          },
          xAxis: both.map((_, i) => axis({
                            type: 'category',
                            data: rounds,
                            gridIndex: i,
                            axisLabel: {show: i === 1, color: t.soft}
                          })),
          yAxis: both.map((_, i) => axis({
                            type: 'value',
                            gridIndex: i,
                            splitNumber: 2,
                            axisLabel: {color: t.soft, formatter: milliseconds}
                          })),
          series: both.map(([name, values], i) => ({
                             name,
                             type: 'bar',
                             xAxisIndex: i,
                             yAxisIndex: i,
                             data: values,
                             itemStyle: {color: i ? t.between : t.inside}
                           })),
        };
      });
}
