// What is wrong with the page that is shown, as a list of sentences. The tests
// evaluate it; no page contains it.
(() => {
  const wrong = [];
  const root = document.documentElement;
  const shown = (element) => element.getClientRects().length > 0;
  const named = (element) =>
    `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;

  if (root.scrollWidth > root.clientWidth) {
    wrong.push(`the page is ${root.scrollWidth} wide of ${root.clientWidth}`);
  }
  for (const element of document.querySelectorAll("body *")) {
    if (!shown(element) || element.closest(".scroll, .patterns")) continue;
    const box = element.getBoundingClientRect();
    if (box.left < -0.5 || box.right > root.clientWidth + 0.5) {
      wrong.push(`${named(element)} leaves the page`);
    }
  }

  const meet = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 &&
    a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(shown);
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((box, i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
        wrong.push(`${named(texts[i])} leaves its drawing`);
      }
      for (let j = 0; j < i; ++j) {
        if (meet(box, boxes[j])) {
          wrong.push(`${named(texts[i])} covers ${named(texts[j])}`);
        }
      }
    });
  }

  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.data.trim());
    if (!text || !shown(element)) continue;
    const style = getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    const ratio = contrast(ink, behind(element));
    if (ratio < 4.5) wrong.push(`${named(element)}: contrast ${ratio}`);
  }
  return wrong;
})();
