// What stands on the page, as elements of an SVG, from back to front: boxes, lines, and texts as wide as they are here.
(() => {
  const made = [];
  const number = value => String(Math.round(value * 100) / 100);
  const tag = (name, attributes, text) => {
    const escaped = value => String(value).replace(/[&<>"]/g, char => `&#${char.codePointAt(0)};`);
    const told = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(typeof value === 'number' ? number(value) : value)}"`).join('');
    made.push(text === undefined ? `<${name}${told}/>` : `<${name}${told}>${escaped(text)}</${name}>`);
  };
  const isSeen = colour => !/^rgba\(.*, 0\)$|^transparent$/.test(colour);
  const pen = document.createElement('canvas').getContext('2d');
  const box = (style, {x, y, width, height}) => {
    const sides = ['Top', 'Right', 'Bottom', 'Left'].map(side => ({
      width: style[`border${side}Style`] === 'none' ? 0 : parseFloat(style[`border${side}Width`]),
      colour: style[`border${side}Color`], dashed: style[`border${side}Style`] === 'dashed',
    })).map(side => isSeen(side.colour) ? side : {...side, width: 0});
    const all = sides.every(side => side.width > 0 && side.width === sides[0].width);
    const ground = isSeen(style.backgroundColor) ? style.backgroundColor : 'none';
    const half = all ? sides[0].width / 2 : 0;
    const look = {fill: ground};
    if (all) Object.assign(look, {stroke: sides[0].colour, 'stroke-width': sides[0].width}, sides[0].dashed ? {'stroke-dasharray': '4 3'} : {});
    if (ground !== 'none' || all) {
      tag('rect', {x: x + half, y: y + half, width: Math.max(width - 2 * half, 0), height: Math.max(height - 2 * half, 0), rx: parseFloat(style.borderTopLeftRadius) || 0, ...look});
    }
    if (!all) {
      const ends = [[x, y, width, sides[0].width], [x + width - sides[1].width, y, sides[1].width, height], [x, y + height - sides[2].width, width, sides[2].width], [x, y, sides[3].width, height]];
      ends.forEach(([left, top, wide, high], side) => {
        if (sides[side].width) tag('rect', {x: left, y: top, width: wide, height: high, fill: sides[side].colour});
      });
    }
    const outline = style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth);
    if (outline) {
      const out = parseFloat(style.outlineOffset) + outline / 2;
      tag('rect', {x: x - out, y: y - out, width: width + 2 * out, height: height + 2 * out, rx: 3, fill: 'none', stroke: style.outlineColor, 'stroke-width': outline});
    }
  };
  const write = (style, text, x, top, width, mark) => {
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const base = top + pen.measureText(text).fontBoundingBoxAscent;
    tag('text', {x, y: base, 'font-size': parseFloat(style.fontSize), fill: style.color, textLength: width, lengthAdjust: 'spacingAndGlyphs',
      ...(style.fontWeight >= 600 ? {'font-weight': style.fontWeight} : {}), ...(style.fontStyle === 'italic' ? {'font-style': 'italic'} : {}),
      ...(/mono/.test(style.fontFamily) ? {'font-family': 'ui-monospace, monospace'} : {})}, text);
    if (!mark) return;
    const thick = parseFloat(mark.textDecorationThickness) || 1;
    const line = mark.textDecorationStyle;
    for (const below of line === 'double' ? [0, thick * 2] : [0]) {
      const y = base + parseFloat(mark.textUnderlineOffset) + thick / 2 + below;
      tag('line', {x1: x, y1: y, x2: x + width, y2: y, stroke: style.color, 'stroke-width': thick, ...(line === 'dotted' ? {'stroke-dasharray': `${number(thick)} ${number(thick)}`} : {})});
    }
  };
  const lines = node => {
    const range = document.createRange();
    const found = [];
    const add = (start, text, isGlued) => {
      range.setStart(node, start);
      range.setEnd(node, start + text.length);
      const rects = range.getClientRects();
      // A word that is broken is drawn letter by letter, so that it breaks where it does.
      if (rects.length > 1 && text.length > 1) {
        [...text].reduce((at, char, number) => (add(at, char, isGlued || number > 0), at + char.length), start);
        return;
      }
      const rect = range.getBoundingClientRect();
      if (!rect.width) return;
      const last = found[found.length - 1];
      if (last && Math.abs(last.top - rect.top) < 2) Object.assign(last, {text: last.text + (isGlued ? '' : ' ') + text, right: rect.right});
      else found.push({text, left: rect.left, right: rect.right, top: rect.top});
    };
    for (const part of node.data.matchAll(/\S+/g)) add(part.index, part[0], false);
    return found;
  };
  const marker = (element, style) => {
    const rect = element.getBoundingClientRect();
    if (element.tagName === 'SUMMARY') write(style, element.parentElement.open ? '\u25be' : '\u25b8', rect.left, rect.top, 10);
    const isNumbered = element.tagName === 'LI' && getComputedStyle(element.parentElement).listStyleType === 'decimal';
    const [first] = isNumbered ? lines(element.firstChild) : [];
    if (first) write(style, `${[...element.parentElement.children].indexOf(element) + 1}.`, rect.left - 18, first.top, 12);
  };
  const walk = element => {
    const style = getComputedStyle(element);
    const isHidden = element.matches('script, style, noscript, dialog:not([open]), .unseen, .skip, #import') || !element.checkVisibility();
    if (isHidden) return;
    const rects = [...element.getClientRects()].filter(rect => rect.width && rect.height && rect.top < innerHeight && rect.bottom > 0);
    const isCheck = element.type === 'checkbox';
    if (isCheck) rects.forEach(({x, y, width, height}) => tag('rect', {x, y, width, height, rx: 2, fill: '#fff', stroke: '#767676'}));
    const cut = element.tagName === 'FIELDSET' ? element.querySelector('legend').offsetHeight / 2 : 0;
    if (!isCheck) rects.forEach(({x, y, width, height}) => box(style, {x, y: y + cut, width, height: height - cut}));
    if (element.tagName === 'LEGEND') rects.forEach(({x, y, width, height}) => tag('rect', {x, y, width, height, fill: '#fff'}));
    if (rects.length && element.tagName === 'PROGRESS') {
      const {x, y, width, height} = rects[0];
      tag('rect', {x, y, width, height, rx: height / 2, fill: '#e4e6ea', stroke: '#767676'});
      tag('rect', {x, y, width: width * element.position, height, rx: height / 2, fill: '#1d4fa8'});
      return;
    }
    if (rects.length) marker(element, style);
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE) walk(child);
      if (child.nodeType !== Node.TEXT_NODE) continue;
      const mark = element.closest('mark') && style.textDecorationLine === 'underline' ? style : null;
      for (const line of lines(child)) if (line.top < innerHeight) write(style, line.text, line.left, line.top, line.right - line.left, mark);
    }
  };
  walk(document.body);
  return made;
})()
