"""Checks of a page that a script can make. Each finding is a sentence."""
CHECKS = r"""
const found = [];
const visible = (e) => e.checkVisibility() && !e.closest('.hidden');
const nameOf = (e) => (e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)?.textContent || '').join(' ')
  || [...(e.labels || [])].map((l) => l.textContent).join(' ') || e.textContent || e.alt || '').trim();
for (const e of document.querySelectorAll('button, input, select, textarea, a, summary, [role=listbox], dialog'))
  if (!nameOf(e)) found.push(`${e.outerHTML.slice(0, 80)} has no name`);
for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) found.push(`${e.outerHTML} has no alt`);
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`the id ${id} occurs twice`);
for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby]'))
  for (const name of ['aria-labelledby', 'aria-describedby'])
    for (const id of (e.getAttribute(name) || '').split(' ').filter(Boolean)) if (!document.getElementById(id)) found.push(`${name} ${id} names nothing`);
if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) found.push('there must be one main and one h1');
if (!document.documentElement.lang) found.push('the page has no language');
let level = 0;
for (const e of document.querySelectorAll('h1, h2, h3')) {
  const own = Number(e.tagName[1]);
  if (own > level + 1 && level > 0) found.push(`${e.tagName} follows H${level}`);
  level = own;
}
for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) found.push(`${e.outerHTML.slice(0, 80)} changes the order of Tab`);
const colour = (text) => { const m = text.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m[3] ?? 1 }; };
const over = (top, below) => top.rgb.map((c, i) => c * top.a + below[i] * (1 - top.a));
const ground = (e) => {
  const layers = [];
  for (let one = e; one; one = one.parentElement) layers.push(colour(getComputedStyle(one).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
};
const light = (rgb) => { const [r, g, b] = rgb.map((c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
for (const e of document.querySelectorAll('body *')) {
  if (!visible(e) || e.closest('.mirror, [disabled], option') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
  const below = ground(e);
  const [a, b] = [light(over(colour(getComputedStyle(e).color), below)), light(below)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push(`"${e.textContent.trim().slice(0, 40)}" has a contrast of ${ratio.toFixed(2)}`);
}
for (const e of document.querySelectorAll('button, select, summary, input:not([type=checkbox]):not([type=file])')) {
  if (!visible(e) || e.classList.contains('word') || e.closest('ol, .list')) continue;
  const box = e.getBoundingClientRect();
  if (box.height < 24 || box.width < 24) found.push(`${nameOf(e)} is ${box.width.toFixed(0)} by ${box.height.toFixed(0)} pixels, too small for a finger`);
}
return found;
"""
