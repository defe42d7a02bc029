// What all charts share, and the totals.
'use strict';

const charts = [];

/** A chart that is drawn again when the theme changes. */
function chart(root, height, label, option, isLarge) {
  const element =
      h('div', {class: 'chart', role: 'img', 'aria-label': label, style: `height:${height}px`});
  root.append(element);
  const instance = echarts.init(element, null, {renderer: isLarge ? 'canvas' : 'svg'});
  const self = {
    instance,
    draw(newHeight) {
      if (newHeight) {
        element.style.height = newHeight + 'px';
        instance.resize();
      }
      instance.setOption({...base(), ...option()}, {notMerge: true});
    }
  };
  self.draw();
  charts.push(self);
  return self;
}

function base() {
  const t = theme();
  return {
    animation: false,
    textStyle:
        {fontFamily: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif', color: t.ink},
    tooltip: {
      confine: true,
      borderWidth: 0,
      padding: 0,
      backgroundColor: 'transparent',
      extraCssText: 'box-shadow:none'
    }
  };
}

function axis(extra) {
  const t = theme();
  return {
    axisLine: {lineStyle: {color: t.line}},
    axisTick: {lineStyle: {color: t.line}},
    splitLine: {lineStyle: {color: t.line, opacity: 0.6}},
    axisLabel: {color: t.soft},
    nameTextStyle: {color: t.soft},
    ...extra
  };
}

// ---- Totals.

function drawTotals(root) {
  const paper = S.paper_policy, bound = S.bound;
  const rows = [['this plan', plan.movedBytes, S.internode_bytes]];
  rows.push(['the bound', bound.moved_bytes, bound.internode_bytes]);
  if (paper) rows.push(['the paper\'s method', paper.moved_bytes, paper.internode_bytes]);
  const pair = h('div', {class: 'pair'});
  const left = h('figure', {}, h('h3', {}, 'Where the new state comes from'));
  const right = h('figure', {}, h('h3', {}, 'Bytes that move, against what is possible'));
  pair.append(left, right);
  root.append(pair);

  const inside = plan.movedBytes - S.internode_bytes;
  const parts = [
    ['kept in place', S.kept_bytes, 'kept'], ['cast where it lands', S.derived_bytes, 'derived'],
    ['new padding', S.zeroed_bytes, 'zeroed'], ['from the same node', inside, 'inside'],
    ['from other nodes', S.internode_bytes, 'between']
  ].filter(([, size]) => size > 0);
  const sentence = parts.map(([name, size]) => `${name} ${bytes(size)}`).join(', ');
  chart(left, 190, 'The new state: ' + sentence, () => {
    const t = theme();
    return {
      grid: {left: 8, right: 8, top: 6, bottom: 112},
      legend: {
        bottom: 0,
        left: 0,
        orient: 'vertical',
        itemGap: 5,
        selectedMode: false,
        itemWidth: 14,
        textStyle: {color: t.ink, fontSize: 13},
        formatter: (name) => {
          const part = parts.find(([other]) => other === name);
          return `${name}   ${bytes(part[1])}   ${percent(part[1], plan.stateBytes)}`;
        }
      },
      xAxis: {type: 'value', max: plan.stateBytes, show: false},
      yAxis: {type: 'category', data: [''], show: false},
      tooltip: {
        ...base().tooltip,
        trigger: 'item',
        formatter: ({seriesName, value}) => tooltip(
            seriesName, [['bytes', bytes(value)], ['share', percent(value, plan.stateBytes)]])
      },
      series: parts.map(([name, size, color]) => ({
                          name,
                          type: 'bar',
                          stack: 'all',
                          barWidth: 44,
                          data: [size],
                          itemStyle: {color: t[color], borderColor: t.card, borderWidth: 1}
                        })),
    };
  });
  chart(
      right, 190,
      rows.map(([name, all,
                 between]) => `${name} moves ${bytes(all)}, ${bytes(between)} between nodes`)
          .join('; '),
      () => {
        const t = theme();
        const series = (name, value, color, label) => ({
          name,
          type: 'bar',
          stack: 'all',
          barWidth: 24,
          data: rows.map(value),
          itemStyle: {color, borderColor: t.card, borderWidth: 1},
          label: label &&
              {
                show: true, position: 'right', color: t.ink, fontSize: 13,
                    formatter: ({dataIndex}) => bytes(rows[dataIndex][1])
              }
        });
        const most = Math.max(...rows.map((row) => Math.max(row[1], row[2])));
        return {
          grid: {left: 150, right: 92, top: 4, bottom: 58},
          legend:
              {bottom: 0, left: 0, selectedMode: false, textStyle: {color: t.ink}, itemWidth: 14},
          tooltip: {
            ...base().tooltip,
            trigger: 'axis',
            axisPointer: {type: 'none'},
            formatter: (list) => {
              const [name, all, between] = rows[list[0].dataIndex];
              return tooltip(name, [['moves', bytes(all)], ['between nodes', bytes(between)]]);
            }
          },
          xAxis: axis({
            type: 'value',
            max: most || 1,
            splitNumber: 4,
            axisLabel: {
              color: t.soft,
              formatter: shortBytes,
              showMaxLabel: false,
              hideOverlap: true
            }
          }),
          yAxis: axis({
            type: 'category',
            inverse: true,
            data: rows.map(([name]) => name),
            axisTick: {show: false},
            axisLabel: {color: t.ink, fontSize: 13}
          }),
          series: [
            series('between nodes', (row) => row[2], t.between),
            series('inside nodes', (row) => Math.max(0, row[1] - row[2]), t.inside, true)
          ],
        };
      });
  root.append(tableBehind(
      'Table',
      () => table(
          [
            ['', ([name]) => name], ['moves', ([, all]) => bytes(all), ([, all]) => all],
            ['between nodes', ([, , between]) => bytes(between), ([, , between]) => between]
          ],
          rows, 'Totals')));
}
