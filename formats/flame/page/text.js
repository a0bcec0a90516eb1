// SPDX-License-Identifier: MIT
// Text for people. Names of a recording are hostile: they reach the document as text nodes only, and what has no shape or
// turns the direction of writing around is shown as its code, and so is what XML (a saved SVG) has no room for.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;

function codeOf(character) {
  return '\\u{' + character.codePointAt(0).toString(16) + '}';
}

function visible(text) {
  return text.replace(UNSEEN, codeOf);
}

function count(number, one, many = one + 's') {
  return number.toLocaleString('en') + ' ' + (number === 1 ? one : many);
}

function digits(value, unit) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + '\u202f' + unit;
}

// An amount of a weight, with three digits: 1.25 s.
function amount(value, unit) {
  if (unit !== 'ns')
    return Math.round(value).toLocaleString('en');
  const size = Math.abs(value);
  if (size === 0)
    return '0\u202fs';
  if (size >= 999.5e9)
    return Math.round(value / 1e9).toLocaleString('en') + '\u202fs';
  return size >= 0.9995e9 ? digits(value / 1e9, 's') : size >= 0.9995e6 ? digits(value / 1e6, 'ms') : digits(value / 1e3, 'µs');
}

function percent(part, whole) {
  const share = whole > 0 ? 100 * part / whole : 0;
  if (share === 0)
    return '0%';
  if (share < 0.01)
    return '<0.01%';
  return share.toFixed(share >= 99.95 ? 0 : share >= 9.95 ? 1 : 2) + '%';
}

function signed(text, value) {
  return value > 0 ? '+' + text : text.replace('-', '−');
}

// Makes an element. Strings among the children become text; no property takes markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (value === true && !name.startsWith('aria-'))
      element.setAttribute(name, '');
    else if (value !== undefined && value !== null && (value !== false || name.startsWith('aria-')))
      element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

// A bar whose length is a share of its place.
function barOf(share, of = '') {
  const fill = make('span', { class: 'fill ' + of });
  fill.style.width = Math.max(0, Math.min(100, 100 * share)).toFixed(2) + '%';
  return make('span', { class: 'meter', 'aria-hidden': 'true' }, fill);
}
