// Memory over time.
'use strict';

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
    while (i + 1 < points.length && points[i + 1][0] <= time)
      highest = Math.max(highest, points[++i][1]);
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

const ratioAxis = (t) => axis({
  type: 'value',
  min: 0,
  axisLabel: {color: t.soft, formatter: (v) => v.toFixed(2) + ' x'},
  name: 'of max(prev, curr)',
  nameLocation: 'end',
  nameGap: 14
});

function boundLines(t, lines) {
  return {
    silent: true,
    symbol: 'none',
    data: lines.map(([value, text, color, type], i) => ({
                      yAxis: value,
                      lineStyle: {color, type, width: 1.4},
                      label: {
                        formatter: text,
                        position: i ? 'insideMiddleBottom' : 'insideEndTop',
                        color,
                        fontSize: 12,
                        distance: [6, 3]
                      }
                    }))
  };
}

/** All devices, over their own max(prev, curr): lines, or a band of many. */
function memoryOverview(devices) {
  const t = theme();
  const top = Math.max(...devices.map((d) => ratioOf(d)));
  const lines = devices.map(
      (device) => ({
        device,
        points: memoryLine(device, predicted)
                    .map(([time, live]) => [time, live / plan.stateOf(plan.program(device))])
      }));
  const worst = lines.reduce((a, b) => (ratioOf(b.device) > ratioOf(a.device) ? b : a));
  const marks = boundLines(t, [
    [S.peak_ratio, `proved bound ${S.peak_ratio.toFixed(4)} x`, t.worst, 'solid'],
    [1, 'max(prev, curr)', t.soft, 'dashed']
  ]);
  const name = ({device}) => `${plan.roleName(device, 'prev')} to ${plan.roleName(device, 'curr')}`;
  const isMany = lines.length > 32;
  const line = (data, extra) =>
      ({type: 'line', showSymbol: false, data, lineStyle: {width: 1.2}, ...extra});
  let series;
  if (!isMany) {
    series = lines.map((entry) => {
      const side = plan.role(entry.device, 'curr') ? 'curr' : 'prev';
      const color = plan.color(plan.role(entry.device, side), side);
      return line(entry.points, {
        name: name(entry),
        lineStyle: {width: entry === worst ? 2.6 : 1.3, color, opacity: entry === worst ? 1 : 0.8},
        itemStyle: {color},
        triggerLineEvent: true,
        emphasis: {focus: 'series', lineStyle: {width: 3}}
      });
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
    series = [
      {
        type: 'custom',
        silent: true,
        data: [[0, 0]],
        renderItem: (params, api) => ({
          type: 'polygon',
          shape: {points: corners.map((corner) => api.coord(corner))},
          style: {fill: t.inside, opacity: 0.28}
        })
      },
      line(pairs(at(0.5)), {
        name: 'median',
        step: 'end',
        itemStyle: {color: t.inside},
        lineStyle: {width: 2, color: t.inside}
      }),
      line(worst.points, {
        name: 'worst: ' + name(worst),
        itemStyle: {color: t.worst},
        lineStyle: {width: 1.6, color: t.worst}
      })
    ];
  }
  series.at(-1).markLine = marks;
  return {
    grid: {left: 66, right: 20, top: 34, bottom: isMany ? 52 : 30},
    legend: isMany ? {
      bottom: 0,
      left: 60,
      data: ['median', 'worst: ' + name(worst)],
      itemStyle: {opacity: 0},
      textStyle: {color: t.ink},
      selectedMode: false
    } :
                     {show: false},
    tooltip:
        {...base().tooltip, trigger: 'item', formatter: ({seriesName}) => tooltip(seriesName, [])},
    xAxis: axis({
      type: 'value',
      min: 0,
      max: predicted.seconds || 1,
      splitLine: {show: false},
      axisLabel: {color: t.soft, formatter: milliseconds, showMaxLabel: false}
    }),
    yAxis: {...ratioAxis(t), max: Math.ceil(Math.max(top, 1) * 10.4) / 10},
    series,
  };
}

/** One device, in bytes. */
function memoryOfDevice(device) {
  const t = theme(), p = plan.program(device);
  const lines = [
    [p.peak, 'proved peak ' + bytes(p.peak), t.worst, 'solid'],
    [plan.stateOf(p), 'max(prev, curr) ' + bytes(plan.stateOf(p)), t.soft, 'dashed']
  ];
  if (D.measured) {
    const peak = D.measured.device_peaks[plan.rankOf.get(device)];
    if (peak) lines.push([peak, '', t.kept, 'dotted']);
  }
  return {
    grid: {left: 76, right: 20, top: 34, bottom: 30},
    tooltip: {
      ...base().tooltip,
      trigger: 'axis',
      formatter: (list) => tooltip(
          'device ' + device,
          [['at', milliseconds(list[0].value[0])], ['live', bytes(list[0].value[1])]])
    },
    xAxis: axis({
      type: 'value',
      min: 0,
      max: predicted.seconds || 1,
      splitLine: {show: false},
      axisLabel: {color: t.soft, formatter: milliseconds, showMaxLabel: false}
    }),
    yAxis: axis({
      type: 'value',
      min: 0,
      max: Math.ceil(p.peak * 1.06),
      axisLabel: {color: t.soft, formatter: shortBytes, showMaxLabel: false}
    }),
    series: [{
      type: 'line',
      showSymbol: false,
      data: memoryLine(device, predicted),
      lineStyle: {color: t.inside, width: 2},
      itemStyle: {color: t.inside},
      areaStyle: {color: t.inside, opacity: 0.18},
      markLine: boundLines(t, lines)
    }],
  };
}

function drawMemory(root) {
  const devices = memoryDevices();
  if (!devices.length) return root.append(h('p', {}, 'No device holds anything.'));
  let device = -1;
  const select =
      h('select', {
        'aria-label': 'Whose memory',
        onchange: () => {
          device = Number(select.value);
          picture.draw();
        }
      },
        h('option', {value: -1}, 'all devices'),
        [...D.world.participants]
            .filter((d) => plan.track(d))
            .slice(0, 4096)
            .map(
                (d) =>
                    h('option', {value: d},
                      `device ${d}: ${plan.roleName(d, 'prev')} to ${plan.roleName(d, 'curr')}`)));
  root.append(h('div', {class: 'tools'}, h('span', {}, 'Show '), select));
  const figure = h('figure', {});
  root.append(figure);
  const picture = chart(
      figure, 340,
      `Live bytes over time: at most ${
          S.peak_ratio.toFixed(4)} times the larger of a device's two states`,
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
