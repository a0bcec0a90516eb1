// SPDX-License-Identifier: MIT
// Menus: a button, and what drops down from it. Escape and a click elsewhere close a menu.

function openMenus() {
  return [...document.querySelectorAll('.drop:not([hidden])')];
}

function closeMenu(drop, focus) {
  const button = byId(drop.id.replace('-list', ''));
  drop.hidden = true;
  button.setAttribute('aria-expanded', 'false');
  if (focus)
    button.focus();
}

function closeMenus(focus = false) {
  const open = openMenus();
  open.forEach((drop) => closeMenu(drop, focus));
  return open.length > 0;
}

// `fill` makes the contents when the menu opens.
function startMenu(name, fill) {
  const button = byId(name), drop = byId(name + '-list');
  button.addEventListener('click', () => {
    const opens = drop.hidden;
    closeMenus();
    if (!opens)
      return;
    fill(drop);
    drop.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    const first = drop.querySelector('[type=radio]:checked') || drop.querySelector('button, input:not(:disabled)');
    if (first)
      first.focus();
  });
  drop.addEventListener('keydown', (event) => {
    if (!['ArrowDown', 'ArrowUp'].includes(event.key) || event.target.type === 'radio')
      return;
    const all = [...drop.querySelectorAll('input:not(:disabled), button:not(:disabled)')].filter((one) => one.offsetParent);
    const next = all[(all.indexOf(event.target) + (event.key === 'ArrowDown' ? 1 : all.length - 1)) % all.length];
    if (next)
      next.focus();
    event.preventDefault();
  });
}

document.addEventListener('pointerdown', (event) => {
  for (const drop of openMenus())
    if (!drop.parentElement.contains(event.target))
      closeMenu(drop, false);
});
