// Units, colours, elements. Nothing here knows of plans.
'use strict';

// ---- Numbers with units, as etc-opt prints them.

function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  for (; value >= 999.995 && unit < 5; ++unit) value /= 1000;
  return value.toFixed(unit === 0 ? 0 : 2) + ' ' + units[unit];
}

/** Without decimals where they would be zeros: for axes. */
function shortBytes(value) {
  return bytes(value).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
}

function seconds(value) {
  if (value >= 100) return value.toFixed(0) + ' s';
  if (value >= 1) return value.toFixed(2) + ' s';
  if (value >= 1e-3) return (value * 1e3).toFixed(value >= 0.1 ? 0 : 1) + ' ms';
  return (value * 1e6).toFixed(0) + ' µs';
}

function percent(part, whole) {
  return (whole ? (100 * part) / whole : 0).toFixed(1) + '%';
}

function count(number, word) {
  return number.toLocaleString('en') + ' ' + word + (number === 1 ? '' : 's');
}

// ---- Elements. Text is always set as text, so no name can be markup.

function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  fill(element, attributes, children);
  return element;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null));
}

/** A tooltip: a heading, and rows of two. */
function tooltip(title, rows) {
  return h(
      'div', {class: 'tooltip'}, h('b', {}, title),
      rows.map(([name, value]) => h('div', {}, h('span', {}, name), h('span', {}, value))));
}

/** Buttons of which one is pressed. */
function choice(label, options, selected, onChange) {
  const buttons = options.map(
      ([value, text]) =>
          h('button', {
            type: 'button',
            'aria-pressed': String(value === selected),
            onclick: () => {
              buttons.forEach(
                  (b, i) => b.setAttribute('aria-pressed', String(options[i][0] === value)));
              onChange(value);
            }
          },
            text));
  return h(
      'span', {}, label + ' ',
      h('span', {class: 'choice', role: 'group', 'aria-label': label}, buttons));
}

/** A table that sorts by its columns: [title, cell(row), key(row)?]. */
function table(columns, rows, caption) {
  const body = h('tbody', {});
  const heads = [];
  const show = (list) =>
      body.replaceChildren(...list.map((row) => h('tr', {}, columns.map(([, cell, key]) => {
                                         const content = cell(row);
                                         return h('td', {class: key ? false : 'text'}, content);
                                       }))));
  const sort = (index, head) => {
    const key = columns[index][2] || columns[index][1];
    const down = head.getAttribute('aria-sort') !== 'descending';
    heads.forEach((other) => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    show([...rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
  };
  columns.forEach(([title, , key], index) => {
    const head = h('th', {scope: 'col', class: key ? false : 'text'});
    head.append(h('button', {type: 'button', onclick: () => sort(index, head)}, title));
    heads.push(head);
  });
  show(rows);
  return h(
      'div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
      h('table', {}, h('thead', {}, h('tr', {}, heads)), body));
}

/** The table behind a picture, made when it is opened. */
function tableBehind(title, make) {
  const details = h('details', {}, h('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.children.length === 1) details.append(make());
  });
  return details;
}

// ---- Colours.

/** Lightness 0..1, chroma, hue in degrees, as #rrggbb. */
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (value) => {
    const v = Math.min(1, Math.max(0, value));
    const c = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(255 * c).toString(16).padStart(2, '0');
  };
  return '#' + channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) +
      channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) +
      channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
}

/**
 * A role's colour says which part of the model it holds: hue runs through the
 * stages from blue over red to yellow, which every kind of colour vision tells
 * apart, lightness through the slices of a layer.
 */
function partColor(depth, slice) {
  const hue = 258 + 202 * depth;
  const lightness = 0.52 + 0.27 * slice + 0.07 * depth;
  return oklch(lightness, 0.145 - 0.05 * Math.abs(slice - 0.5), hue);
}

const dark = () => document.documentElement.dataset.theme === 'dark';

function theme() {
  return dark() ? {
    ink: '#e7ebf1',
    soft: '#9aa6b6',
    line: '#2b323c',
    faint: '#20262e',
    card: '#161b22',
    ramp: ['#1b2230', '#1f3a63', '#2a5ca8', '#5b93e6', '#b5d3ff'],
    ring: '#ffb347',
    kept: '#3aa083',
    inside: '#7aa2f0',
    between: '#e08a4a',
    derived: '#8d80c4',
    zeroed: '#5d6875',
    bound: '#e7ebf1',
    worst: '#ff9d5c'
  } :
                  {
                    ink: '#171c24',
                    soft: '#566171',
                    line: '#dfe3e9',
                    faint: '#f0f2f5',
                    card: '#ffffff',
                    ramp: ['#f3f6fb', '#c6d9f3', '#86afe3', '#3f74c2', '#173f7e'],
                    ring: '#e8710a',
                    kept: '#2f9e7d',
                    inside: '#5b8def',
                    between: '#d9702b',
                    derived: '#8a7cc8',
                    zeroed: '#a7b0bc',
                    bound: '#171c24',
                    worst: '#c8500a'
                  };
}

/** Black or white, whichever reads on a colour. */
function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#10141a' : '#ffffff';
}

/** A colour of the theme's ramp, for 0..1. */
function rampColor(share) {
  const {ramp} = theme();
  const at = Math.min(0.9999, Math.max(0, share)) * (ramp.length - 1);
  const low = ramp[Math.floor(at)], high = ramp[Math.floor(at) + 1];
  return '#' +
      [1, 3, 5]
          .map((i) => {
            const a = parseInt(low.slice(i, i + 2), 16);
            const b = parseInt(high.slice(i, i + 2), 16);
            return Math.round(a + (b - a) * (at % 1)).toString(16).padStart(2, '0');
          })
          .join('');
}
