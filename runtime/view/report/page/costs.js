// The cost matrix, with the chosen pairs.
'use strict';

/**
 * Stages for roles, P3 for P3T1: what a role of the row lacks of the best of the column, in the
 * mean.
 */
function byStage(matrix) {
  const group = (names) => {
    const stages = [...new Set(names.map((name) => name.replace(/T.*/, '')))];
    return [stages, names.map((name) => stages.indexOf(name.replace(/T.*/, '')))];
  };
  const [rows, rowOf] = group(matrix.rows), [columns, columnOf] = group(matrix.columns);
  const costs = rows.map(() => columns.map(() => 0)), sizes = rows.map(() => 0);
  matrix.costs.forEach((line, i) => {
    const least = columns.map(() => Infinity);
    line.forEach((cost, j) => {
      least[columnOf[j]] = Math.min(least[columnOf[j]], cost);
    });
    least.forEach((cost, j) => {
      costs[rowOf[i]][j] += cost;
    });
    ++sizes[rowOf[i]];
  });
  const pairs = new Map();
  for (const [i, j, devices] of matrix.pairs) {
    const key = rowOf[i] + ' ' + columnOf[j];
    pairs.set(key, (pairs.get(key) || 0) + devices);
  }
  return {
    rows,
    columns,
    costs: costs.map((line, i) => line.map((cost) => cost / sizes[i])),
    pairs: [...pairs].map(([key, devices]) => [...key.split(' ').map(Number), devices])
  };
}

function drawCosts(root) {
  const whole = D.matrix;
  if (!whole)
    return root.append(
        h('p', {class: 'how'}, 'The matrix of this plan has too many roles to be shown.'));
  const isMany = whole.rows.length > 40 || whole.columns.length > 40;
  const coarse = isMany ? byStage(whole) : whole;
  const canSum = isMany && coarse.rows.length < whole.rows.length;
  let matrix = canSum ? coarse : whole;
  const tools = h('div', {class: 'tools'});
  root.append(tools);
  const figure = h('figure', {});
  root.append(figure);
  const height = () => matrix.rows.length * cellSize(matrix)[1] + 80;
  const option = () => costOption(matrix);
  const picture = chart(
      figure, height(),
      `What previous roles lack of current ones: ${matrix.rows.length} by ` +
          `${matrix.columns.length}, with ${count(matrix.pairs.length, 'chosen pair')}`,
      option, whole.rows.length * whole.columns.length > 2500);
  if (canSum)
    tools.append(
        choice('Rows and columns', [[coarse, 'stages'], [whole, 'roles']], matrix, (next) => {
          matrix = next;
          picture.draw(height());
        }), h('span', {}, 'Scroll over the picture to zoom, drag to move.'));
  else
    tools.remove();
  root.append(tableBehind('Table of the chosen pairs', () => table([
    ['role after', ([i]) => matrix.rows[i]], ['role before', ([, j]) => matrix.columns[j]],
    ['devices', ([, , n]) => String(n), ([, , n]) => n],
    ['lacks', ([i, j]) => bytes(matrix.costs[i][j]), ([i, j]) => matrix.costs[i][j]],
    ['the best before lacks', ([i]) => bytes(Math.min(...matrix.costs[i])), ([i]) => Math.min(...matrix.costs[i])]],
  matrix.pairs, 'Chosen pairs')));
}

/** Width and height of a cell: large enough for a number where they are few. */
function cellSize(matrix) {
  return [
    Math.max(
        1,
        Math.min(
            100,
            Math.floor(
                (innerWidth > 1180 ? 860 : Math.max(160, innerWidth - 320)) /
                matrix.columns.length))),
    Math.max(1, Math.min(34, Math.floor(620 / matrix.rows.length)))
  ];
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
    grid: {
      left: 84,
      top: 62,
      width: width * matrix.columns.length,
      height: height * matrix.rows.length
    },
    tooltip: {
      ...base().tooltip,
      formatter: ({data: [j, i]}) => tooltip(
          `${matrix.rows[i]} after, ${matrix.columns[j]} before`,
          [
            ['lacks', bytes(matrix.costs[i][j])],
            ['devices that go this way', String(taken.get(i + ' ' + j) || 0)]
          ])
    },
    visualMap: {
      min: 0,
      max: most,
      dimension: 2,
      seriesIndex: 0,
      orient: 'vertical',
      left: 84 + width * matrix.columns.length + 24,
      top: 62,
      itemHeight: 130,
      inRange: {color: t.ramp},
      text: [bytes(most), '0 B'],
      textStyle: {color: t.soft}
    },
    dataZoom: isLarge ? [] : [{type: 'inside', xAxisIndex: 0}, {type: 'inside', yAxisIndex: 0}],
    xAxis: axis({
      type: 'category',
      data: matrix.columns,
      position: 'top',
      name: 'role before',
      nameLocation: 'middle',
      nameGap: 34,
      axisTick: {show: false},
      axisLabel: {color: t.soft, fontSize: 11}
    }),
    yAxis: axis({
      type: 'category',
      data: matrix.rows,
      inverse: true,
      name: 'role after',
      nameLocation: 'middle',
      nameGap: 58,
      axisTick: {show: false},
      axisLabel: {color: t.soft, fontSize: 11, interval: Math.ceil(15 / height) - 1}
    }),
    series: [
      {
        type: 'heatmap',
        data: cells,
        progressive: 0,
        itemStyle: {borderColor: t.card, borderWidth: gap},
        label: {
          show: isLarge,
          fontSize: 11,
          formatter: ({data}) => (data[2] ? shortBytes(data[2]) : '0')
        }
      },
      {
        type: 'custom',
        silent: true,
        clip: true,
        encode: {x: 0, y: 1},
        data: matrix.pairs.map(([i, j]) => [j, i]),
        renderItem: (params, api) => {
          const [x, y] = api.coord([api.value(0), api.value(1)]), [w, height_] = api.size([1, 1]);
          const inset = w > 12 && height_ > 12 ? 2 : 0;
          return {
            type: 'rect',
            shape: {
              x: x - w / 2 + inset,
              y: y - height_ / 2 + inset,
              width: w - 2 * inset,
              height: height_ - 2 * inset,
              r: inset
            },
            style: {fill: 'none', stroke: t.ring, lineWidth: inset ? 2.5 : 1.5}
          };
        }
      },
    ],
  };
}
