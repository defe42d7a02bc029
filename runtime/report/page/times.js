// Rounds and memory over time.
'use strict';

const milliseconds = (value) => seconds(value).replace('.00 s', ' s');

// ---- Rounds.

/** Rows of the timeline: devices, or nodes with the span of their devices. */
function timelineRows(clock, node) {
  const participants = D.world.participants;
  const devices = node >= 0 ? participants.filter((d) => plan.nodeOf[d] === node) : participants;
  if (devices.length <= 64)
    return devices.map((device) => ({ name: 'device ' + device, devices: [device] }));
  const groups = new Map();
  for (const device of devices) {
    const key = plan.nodeOf[device];
    if (!groups.has(key)) groups.set(key, { name: 'node ' + key, devices: [] });
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
      if (end > begin) bars.push([index, begin, end, round, sent / row.devices.length, received / row.devices.length]);
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
  const x = { type: 'value', min: 0, max: clock.seconds || 1 };
  return {
    grid: [{ left: 84, right: 34, top: 18, height: top - 28 }, { left: 84, right: 34, top: top + 14, bottom: 76 }],
    tooltip: { ...base().tooltip, formatter: ({ seriesIndex, data }) => seriesIndex === 0
      ? tooltip('all devices', [['from', milliseconds(data[0])], ['receive', bytes(data[1]) + '/s']])
      : tooltip(`${rows[data[0]].name}, round ${data[3]}`, [['from', milliseconds(data[1])], ['to', milliseconds(data[2])],
        ['sends', bytes(data[4])], ['receives', bytes(data[5])],
        ...(rows[data[0]].devices.length > 1 ? [['', 'mean of ' + count(rows[data[0]].devices.length, 'device')]] : [])]) },
    dataZoom: [{ type: 'inside', xAxisIndex: [0, 1], filterMode: 'weakFilter' },
      { type: 'slider', xAxisIndex: [0, 1], filterMode: 'weakFilter', bottom: 8, height: 20, borderColor: t.line, textStyle: { color: t.soft },
        labelFormatter: milliseconds, showDataShadow: false, brushSelect: false }],
    xAxis: [axis({ ...x, gridIndex: 0, axisLabel: { show: false }, axisTick: { show: false }, splitLine: { show: false } }),
      axis({ ...x, gridIndex: 1, position: 'bottom', axisLabel: { color: t.soft, formatter: milliseconds, showMaxLabel: false } })],
    yAxis: [axis({ type: 'value', gridIndex: 0, splitNumber: 2, axisLabel: { color: t.soft, formatter: (v) => shortBytes(v) + '/s' } }),
      axis({ type: 'category', gridIndex: 1, inverse: true, data: rows.map((row) => row.name), axisTick: { show: false }, axisLabel: { color: t.soft, fontSize: 11 } })],
    series: [
      { type: 'line', xAxisIndex: 0, yAxisIndex: 0, data: rates, step: 'end', showSymbol: false, itemStyle: { color: t.inside },
        lineStyle: { width: 1, color: t.inside }, areaStyle: { color: t.inside, opacity: 0.5 } },
      { type: 'custom', progressive: 0, xAxisIndex: 1, yAxisIndex: 1, encode: { x: [1, 2], y: 0 }, data: bars, clip: true,
        renderItem: (params, api) => {
          const [x0, y] = api.coord([api.value(1), api.value(0)]), [x1] = api.coord([api.value(2), api.value(0)]);
          const band = api.size([0, 1])[1];
          const busy = Math.max(api.value(4), api.value(5));
          const edge = band > 8 ? 2 : 0.5;
          return { type: 'rect', shape: { x: x0, y: y - band / 2 + edge / 2, width: Math.max(0.5, x1 - x0 - (x1 - x0 > 4 ? 1 : 0.3)), height: band - edge },
            style: { fill: busy > 0 ? rampColor(0.14 + 0.86 * busy / most) : t.faint, stroke: busy > 0 ? 'none' : t.line, lineWidth: 0.5 } };
        } },
    ],
  };
}

function timelineScale() {
  const { ramp } = theme();
  return h('div', { class: 'legend' }, h('span', {}, 'a bar is a round; in it the device moves', 
    h('span', { class: 'ramp', style: `background:linear-gradient(90deg, ${ramp.join(',')})` }), 'little … most'),
  h('span', {}, h('i', { style: `background:${theme().faint};outline:1px solid ${theme().line}` }), 'nothing: it copies, or waits for others'));
}

function drawRounds(root) {
  let clock = predicted, node = -1;
  const height = (rows) => Math.max(300, Math.min(860, 190 + rows.length * (rows.length > 40 ? 9 : 17)));
  const rows = () => timelineRows(clock, node);
  const tools = h('div', { class: 'tools' });
  if (measured && !measured.isEmpty)
    tools.append(choice('Times', [[predicted, 'predicted'], [measured, 'measured']], clock, (next) => { clock = next; picture.draw(); }));
  const canZoom = D.world.participants.length > 64;
  if (canZoom) {
    const select = h('select', { 'aria-label': 'Whose rounds', onchange: () => { node = Number(select.value); picture.draw(); } },
      h('option', { value: -1 }, 'all, by node'), D.world.nodes.map((_, n) => h('option', { value: n }, 'devices of node ' + n)));
    tools.append(h('span', {}, 'Rows '), select);
  }
  tools.append(h('span', {}, 'Scroll over the picture to zoom, drag to move.'));
  const figure = h('figure', {});
  root.append(tools, figure);
  const picture = chart(figure, height(rows()), `${count(plan.roundCount, 'round')} over ${milliseconds(clock.seconds)}`,
    () => timelineOption(clock, rows()), rows().length * plan.roundCount > 3000);
  root.append(timelineScale());
  if (measured && !measured.isEmpty) drawRoundComparison(root);
  root.append(tableBehind('Table of the rounds', () => {
    const columns = [['round', String, (r) => r], ['moves', (r) => bytes(D.rounds.moved[r]), (r) => D.rounds.moved[r]],
      ['busiest port', (r) => bytes(D.rounds.max_port[r]), (r) => D.rounds.max_port[r]],
      ['messages', (r) => String(D.rounds.messages[r]), (r) => D.rounds.messages[r]],
      ['predicted begin', (r) => milliseconds(predicted.begin(r)), (r) => predicted.begin(r)],
      ['predicted end', (r) => milliseconds(predicted.end(r)), (r) => predicted.end(r)]];
    if (measured && !measured.isEmpty)
      columns.push(['measured begin', (r) => milliseconds(measured.begin(r)), (r) => measured.begin(r)],
        ['measured end', (r) => milliseconds(measured.end(r)), (r) => measured.end(r)]);
    return table(columns, [...Array(plan.roundCount).keys()], 'Rounds');
  }));
}

/** How long each round takes, as predicted and as measured. */
function drawRoundComparison(root) {
  const figure = h('figure', {}, h('h3', { style: 'margin-top:1.2rem' }, 'The longest that a device takes for each round: predicted for the cluster, and measured here'));
  root.append(figure);
  const times = (clock) => D.rounds.moved.map((_, r) => clock.longest(r));
  const both = [['predicted', times(predicted)], ['measured', times(measured)]];
  chart(figure, 280, both.map(([name, list]) => `${name}: ${milliseconds(list.reduce((a, b) => Math.max(a, b), 0))} at most`).join('; '), () => {
    const t = theme();
    const rounds = D.rounds.moved.map((_, r) => r);
    const part = (i) => ({ left: 84, right: 20, top: 26 + i * 128, height: 84 });
    return {
      title: both.map(([text], i) => ({ text, left: 84, top: i * 128 + 2, textStyle: { color: t.soft, fontSize: 12, fontWeight: 600 } })),
      grid: [part(0), part(1)], axisPointer: { link: [{ xAxisIndex: 'all' }] },
      tooltip: { ...base().tooltip, trigger: 'axis', formatter: (list) => tooltip('round ' + list[0].dataIndex,
        both.map(([name, values]) => [name, milliseconds(values[list[0].dataIndex])])) },
      xAxis: both.map((_, i) => axis({ type: 'category', data: rounds, gridIndex: i, axisLabel: { show: i === 1, color: t.soft } })),
      yAxis: both.map((_, i) => axis({ type: 'value', gridIndex: i, splitNumber: 2, axisLabel: { color: t.soft, formatter: milliseconds } })),
      series: both.map(([name, values], i) => ({ name, type: 'bar', xAxisIndex: i, yAxisIndex: i, data: values, itemStyle: { color: i ? t.between : t.inside } })),
    };
  });
}

// ---- Memory.

/** [time, bytes] corners of a device's live bytes. */
function memoryLine(device, clock) {
  const track = plan.track(device), ends = clock.endsOf(device);
  const points = [[0, track.before]];
  let begin = 0;
  track.during.forEach((live, round) => {
    points.push([begin, live], [ends[round], live], [ends[round], track.after[round]]);
    begin = ends[round];
  });
  points.push([clock.seconds, points.at(-1)[1]]);
  return points;
}

/** The value of a line of corners at each of some ascending times. */
function sample(points, times) {
  let i = 0;
  return times.map((time) => {
    let highest = points[i][1];
    while (i + 1 < points.length && points[i + 1][0] <= time) highest = Math.max(highest, points[++i][1]);
    return highest;
  });
}

function memoryDevices() {
  const seen = new Set(), devices = [];
  for (const device of D.world.participants) {
    const program = D.devices.program[device];
    const p = D.programs[program];
    if (seen.has(program) || !plan.track(device) || !plan.stateOf(p)) continue;
    seen.add(program);
    devices.push(device);
  }
  return devices;
}

const ratioAxis = (t) => axis({ type: 'value', min: 0, axisLabel: { color: t.soft, formatter: (v) => v.toFixed(2) + ' x' }, name: 'of max(prev, curr)', nameLocation: 'end', nameGap: 14 });

function boundLines(t, lines) {
  return { silent: true, symbol: 'none', data: lines.map(([value, text, color, type], i) => ({ yAxis: value,
    lineStyle: { color, type, width: 1.4 }, label: { formatter: text, position: i ? 'insideEndBottom' : 'insideEndTop', color, fontSize: 12, distance: [6, 3] } })) };
}

/** All devices, over their own max(prev, curr): lines, or a band of many. */
function memoryOverview(devices) {
  const t = theme();
  const top = Math.max(...devices.map((d) => ratioOf(d)));
  const lines = devices.map((device) => ({ device, points: memoryLine(device, predicted)
    .map(([time, live]) => [time, live / plan.stateOf(plan.program(device))]) }));
  const worst = lines.reduce((a, b) => (ratioOf(b.device) > ratioOf(a.device) ? b : a));
  const marks = boundLines(t, [[S.peak_ratio, `proved bound ${S.peak_ratio.toFixed(4)} x`, t.worst, 'solid'], [1, 'max(prev, curr)', t.soft, 'dashed']]);
  const name = ({ device }) => `${plan.roleName(device, 'prev')} to ${plan.roleName(device, 'curr')}`;
  const isMany = lines.length > 32;
  const line = (data, extra) => ({ type: 'line', showSymbol: false, data, lineStyle: { width: 1.2 }, ...extra });
  let series;
  if (!isMany) {
    series = lines.map((entry) => {
      const side = plan.role(entry.device, 'curr') ? 'curr' : 'prev';
      const color = plan.color(plan.role(entry.device, side), side);
      return line(entry.points, { name: name(entry), lineStyle: { width: entry === worst ? 2.6 : 1.3, color, opacity: entry === worst ? 1 : 0.8 }, itemStyle: { color },
        triggerLineEvent: true, emphasis: { focus: 'series', lineStyle: { width: 3 } } });
    });
  } else {
    const times = [...Array(401).keys()].map((i) => (i * predicted.seconds) / 400);
    const values = lines.map((entry) => sample(entry.points, times));
    const at = (share) => times.map((_, i) => {
      const sorted = values.map((list) => list[i]).sort((a, b) => a - b);
      return sorted[Math.round(share * (sorted.length - 1))];
    });
    const low = at(0), high = at(1), pairs = (list) => list.map((v, i) => [times[i], v]);
    const corners = [...pairs(high), ...pairs(low).reverse()];
    series = [{ type: 'custom', silent: true, data: [[0, 0]], renderItem: (params, api) => ({ type: 'polygon',
      shape: { points: corners.map((corner) => api.coord(corner)) }, style: { fill: t.inside, opacity: 0.28 } }) },
      line(pairs(at(0.5)), { name: 'median', step: 'end', itemStyle: { color: t.inside }, lineStyle: { width: 2, color: t.inside } }),
      line(worst.points, { name: 'worst: ' + name(worst), itemStyle: { color: t.worst }, lineStyle: { width: 1.6, color: t.worst } })];
  }
  series.at(-1).markLine = marks;
  return {
    grid: { left: 66, right: 20, top: 34, bottom: isMany ? 52 : 30 },
    legend: isMany ? { bottom: 0, left: 60, data: ['median', 'worst: ' + name(worst)], itemStyle: { opacity: 0 }, textStyle: { color: t.ink }, selectedMode: false } : { show: false },
    tooltip: { ...base().tooltip, trigger: 'item', formatter: ({ seriesName }) => tooltip(seriesName, []) },
    xAxis: axis({ type: 'value', min: 0, max: predicted.seconds || 1, splitLine: { show: false }, axisLabel: { color: t.soft, formatter: milliseconds, showMaxLabel: false } }),
    yAxis: { ...ratioAxis(t), max: Math.ceil(Math.max(top, 1) * 10.4) / 10 }, series,
  };
}

/** One device, in bytes. */
function memoryOfDevice(device) {
  const t = theme(), p = plan.program(device);
  const lines = [[p.peak, 'proved peak ' + bytes(p.peak), t.worst, 'solid'],
    [plan.stateOf(p), 'max(prev, curr) ' + bytes(plan.stateOf(p)), t.soft, 'dashed']];
  if (D.measured) {
    const peak = D.measured.device_peaks[plan.rankOf.get(device)];
    if (peak) lines.push([peak, '', t.kept, 'dotted']);
  }
  return {
    grid: { left: 76, right: 20, top: 34, bottom: 30 },
    tooltip: { ...base().tooltip, trigger: 'axis', formatter: (list) => tooltip('device ' + device,
      [['at', milliseconds(list[0].value[0])], ['live', bytes(list[0].value[1])]]) },
    xAxis: axis({ type: 'value', min: 0, max: predicted.seconds || 1, splitLine: { show: false }, axisLabel: { color: t.soft, formatter: milliseconds, showMaxLabel: false } }),
    yAxis: axis({ type: 'value', min: 0, max: Math.ceil(p.peak * 1.06), axisLabel: { color: t.soft, formatter: shortBytes, showMaxLabel: false } }),
    series: [{ type: 'line', showSymbol: false, data: memoryLine(device, predicted), lineStyle: { color: t.inside, width: 2 }, itemStyle: { color: t.inside },
      areaStyle: { color: t.inside, opacity: 0.18 }, markLine: boundLines(t, lines) }],
  };
}

function drawMemory(root) {
  const devices = memoryDevices();
  if (!devices.length) return root.append(h('p', {}, 'No device holds anything.'));
  let device = -1;
  const select = h('select', { 'aria-label': 'Whose memory', onchange: () => { device = Number(select.value); picture.draw(); } },
    h('option', { value: -1 }, 'all devices'),
    [...D.world.participants].filter((d) => plan.track(d)).slice(0, 4096).map((d) => h('option', { value: d },
      `device ${d}: ${plan.roleName(d, 'prev')} to ${plan.roleName(d, 'curr')}`)));
  root.append(h('div', { class: 'tools' }, h('span', {}, 'Show '), select));
  const figure = h('figure', {});
  root.append(figure);
  const picture = chart(figure, 340, `Live bytes over time: at most ${S.peak_ratio.toFixed(4)} times the larger of a device's two states`,
    () => (device < 0 ? memoryOverview(devices) : memoryOfDevice(device)), false);
  root.append(tableBehind('Table', () => table([
    ['before', (d) => plan.roleName(d, 'prev')], ['after', (d) => plan.roleName(d, 'curr')],
    ['devices alike', (d) => String(plan.program(d).devices), (d) => plan.program(d).devices],
    ['held before', (d) => bytes(plan.program(d).prev_bytes), (d) => plan.program(d).prev_bytes],
    ['held after', (d) => bytes(plan.program(d).curr_bytes), (d) => plan.program(d).curr_bytes],
    ['staging', (d) => bytes(plan.program(d).slabs), (d) => plan.program(d).slabs],
    ['proved peak', (d) => bytes(plan.program(d).peak), (d) => plan.program(d).peak],
    ['over max(prev, curr)', (d) => ratioOf(d).toFixed(4), ratioOf],
    ['peak in safe mode', (d) => bytes(plan.program(d).peak_safe), (d) => plan.program(d).peak_safe]], devices, 'Memory')));
}
