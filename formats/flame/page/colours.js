// SPDX-License-Identifier: MIT
// Colours by kind of code: the hues of Okabe and Ito, which colour-blind people tell apart, with different lightness too. Three
// shades of each colour keep neighbours apart; C code has a shade for each library.

const PALETTES = {
  light: {
    program: '#f0b03f', package: '#7cc0ee', library: '#4cae8d', import: '#ece28a', native: '#2c6da6', gc: '#d68fb8',
    asyncio: '#7763ad', waiting: '#c24e17', idle: '#dcdfe4', other: '#a7adb6', group: '#5b6673', root: '#414b57',
    grew: ['#f9c9b8', '#ee8a66', '#cf4a1d'], shrank: ['#c3daf3', '#74a9dc', '#2467a8'], same: '#d9dce1',
    paper: '#ffffff', ink: '#16191d', light: '#ffffff', text: '#16191d', match: '#c2188f', ring: '#0b57c2', stripe: 'rgba(255,255,255,.3)',
  },
  dark: {
    program: '#c98a1b', package: '#3d86b8', library: '#1d7f61', import: '#a89b3f', native: '#1f527f', gc: '#a8598a',
    asyncio: '#604f94', waiting: '#b4461a', idle: '#39404a', other: '#626a76', group: '#46505d', root: '#39424e',
    grew: ['#6d3a2b', '#a8492a', '#e0633a'], shrank: ['#29435f', '#2f6aa3', '#58a0e0'], same: '#3d444e',
    paper: '#171b21', ink: '#101317', light: '#f4f6f8', text: '#e6e9ed', match: '#ff6bd0', ring: '#7db8ff', stripe: 'rgba(0,0,0,.3)',
  },
};
const SHADES = [0, -0.07, 0.07];
const LIBRARY_SHADES = [0, 0.24, -0.24, 0.12, -0.12];
const shaded = new Map(), libraries = new Map();

function theme() {
  return document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// Mixes a colour with white (by > 0) or black (by < 0).
function mixed(hex, by) {
  const to = by > 0 ? 255 : 0;
  return '#' + channels(hex).map((c) => Math.round(c + (to - c) * Math.abs(by)).toString(16).padStart(2, '0')).join('');
}

function luminance(hex) {
  const [r, g, b] = channels(hex).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// A colour in one of its shades, with the colour of text that is read best on it: {fill, ink}.
function shadeOf(hex, shade, palette) {
  const name = hex + shade;
  if (!shaded.has(name)) {
    const fill = shade ? mixed(hex, shade) : hex, light = luminance(fill) + 0.05;
    const onDark = (luminance(palette.light) + 0.05) / light, onLight = light / (luminance(palette.ink) + 0.05);
    shaded.set(name, { fill, ink: onLight >= onDark ? palette.ink : palette.light });
  }
  return shaded.get(name);
}

// How much lighter or darker the colour of a function is than that of its kind.
function shadeOfFunction(fn) {
  if (kindOf(fn).name !== 'native')
    return SHADES[fn % SHADES.length];
  const file = fileOf(fn) || '', library = file.split(file.startsWith('/') ? ' ' : '/')[0]; // libz.so.1/deflate.c, /lib/libz.so.1 /src/deflate.c
  if (!libraries.has(library))
    libraries.set(library, LIBRARY_SHADES[libraries.size % LIBRARY_SHADES.length]);
  return libraries.get(library);
}

// The colour of a box of a tree.
function colourOf(tree, node, palette) {
  const key = tree.key[node];
  if (tree.was && node > 0) {
    const judged = judgeBox(tree, node);
    const strong = Math.min(2, Math.max(0, Math.floor(3 + Math.log10(Math.abs(judged.change) / wholeOf(tree)))));
    return shadeOf(judged.verdict === 'same' ? palette.same : palette[judged.verdict][strong], 0, palette);
  }
  if (key < 0)
    return shadeOf(key === ROOT ? palette.root : palette.group, 0, palette);
  const fn = functionOf(key);
  return shadeOf(palette[kindOf(fn).name] || palette.other, shadeOfFunction(fn), palette);
}
