"use strict";
// Numbers out of text, and pictures out of numbers.

/** Bytes of a text in base64. */
function bytes(text) {
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) found[i] = letters.charCodeAt(i);
  return found;
}

/** (first + code) * 10^exponent of one frame of one kind, as numbers and as text. */
class Numbers {
  constructor(told, points, missing) {
    this.codes = new Uint16Array(bytes(told.codes).buffer);
    this.first = told.first;
    this.exponent = told.exponent;
    this.limits = told.limits;
    this.colours = told.colours;
    this.points = points;
    this.missing = missing;
  }

  whole(frame, point) {
    const code = this.codes[frame * this.points + point];
    return code === this.missing ? null : this.first[frame] + code;
  }

  value(frame, point) {
    const whole = this.whole(frame, point);
    const power = this.exponent[frame];
    if (whole === null) return NaN;
    return power < 0 ? whole / 10 ** -power : whole * 10 ** power;
  }

  frame(number) {
    return Float64Array.from({ length: this.points }, (_, point) => this.value(number, point));
  }

  course(point) {
    return Float64Array.from(this.first, (_, frame) => this.value(frame, point));
  }

  /** The number with exactly the digits that were kept. */
  text(frame, point) {
    const whole = this.whole(frame, point);
    const power = this.exponent[frame];
    if (whole === null) return "no value";
    const digits = String(Math.abs(whole));
    const size = digits.length - 1 + power;
    if (whole !== 0 && (size < -4 || power > 0)) {
      const rest = digits.slice(1) ? `.${digits.slice(1)}` : "";
      return `${whole < 0 ? "-" : ""}${digits[0]}${rest}e${size}`;
    }
    return power < 0 ? (whole / 10 ** -power).toFixed(-power) : String(whole);
  }
}

/** A number for the end of a scale. */
function brief(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3
    ? value.toExponential(1)
    : String(Number(value.toPrecision(3)));
}

/** Paint the pixels of a picture on a canvas; what is not known stays clear. */
function paint(canvas, picture, values, limits, table) {
  const { rows, columns, mixed, corners, shares, missing } = picture;
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const count = rows * columns;
  const span = limits[1] - limits[0] || 1;
  for (let pixel = 0; pixel < count; pixel += 1) {
    let sum = 0;
    let weight = 0;
    for (let k = 0; k < mixed; k += 1) {
      const place = k * count + pixel;
      sum += corners[place] === missing ? NaN : shares[place] * values[corners[place]];
      weight += shares[place];
    }
    const share = (sum / weight - limits[0]) / span;
    if (Number.isNaN(share)) continue;
    const colour = 3 * Math.min(255, Math.max(0, Math.floor(256 * share)));
    image.data[4 * pixel] = table[colour];
    image.data[4 * pixel + 1] = table[colour + 1];
    image.data[4 * pixel + 2] = table[colour + 2];
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** The colours of a scale, from left to right. */
function paintScale(canvas, table) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(256, 1);
  for (let step = 0; step < 256; step += 1) {
    for (let part = 0; part < 3; part += 1) image.data[4 * step + part] = table[3 * step + part];
    image.data[4 * step + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** Round numbers between two ends. */
function ticks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + 1e-9 * step; n += 1) found.push(n * step);
  return found;
}

/**
 * Lines over an axis, with bands.
 * @param {HTMLCanvasElement} canvas where
 * @param {object} drawn x, lines [{y, dash, width, accent}], bands [{low, high}], marker, limits, labels
 */
function plot(canvas, drawn) {
  const box = canvas.parentElement.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(box.width, 50);
  const height = Math.min(Math.max(0.36 * width, 170), 300);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink");
  const accent = style.getPropertyValue("--accent");
  const soft = style.getPropertyValue("--soft");
  const frame = { left: 62, right: width - 10, top: 8, bottom: height - 38 };
  const [low, high] = drawn.limits;
  const start = drawn.x[0];
  const end = drawn.x[drawn.x.length - 1];
  const across = (x) => frame.left + ((frame.right - frame.left) * (x - start)) / (end - start || 1);
  const up = (y) => frame.bottom - ((frame.bottom - frame.top) * (y - low)) / (high - low || 1);
  canvas.unproject = (pixels) =>
    start + ((pixels - frame.left) / (frame.right - frame.left)) * (end - start);

  context.font = "12px system-ui, sans-serif";
  context.fillStyle = soft;
  context.strokeStyle = style.getPropertyValue("--line");
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const tick of ticks(low, high, 4)) {
    context.beginPath();
    context.moveTo(frame.left, up(tick));
    context.lineTo(frame.right, up(tick));
    context.stroke();
    context.fillText(brief(Number(tick.toPrecision(12))), frame.left - 6, up(tick));
  }
  context.textBaseline = "top";
  for (const tick of ticks(start, end, Math.max(2, Math.floor(width / 110)))) {
    context.textAlign = across(tick) > frame.right - 20 ? "right" : "center";
    context.fillText(drawn.tick ? drawn.tick(tick) : brief(Number(tick.toPrecision(12))), across(tick), frame.bottom + 5);
  }
  context.textAlign = "right";
  context.fillText(drawn.label, frame.right, frame.bottom + 21);

  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top - 2, frame.right - frame.left, frame.bottom - frame.top + 4);
  context.clip();
  for (const band of drawn.bands) {
    context.globalAlpha = 0.2;
    context.fillStyle = accent;
    context.beginPath();
    band.low.forEach((y, i) => context.lineTo(across(drawn.x[i]), up(y)));
    for (let i = band.high.length - 1; i >= 0; i -= 1) context.lineTo(across(drawn.x[i]), up(band.high[i]));
    context.fill();
    context.globalAlpha = 1;
  }
  for (const line of drawn.lines) {
    context.strokeStyle = line.accent ? accent : ink;
    context.lineWidth = line.width;
    context.setLineDash(line.dash || []);
    context.beginPath();
    let pen = false;
    line.y.forEach((y, i) => {
      if (Number.isNaN(y)) pen = false;
      else if (pen) context.lineTo(across(drawn.x[i]), up(y));
      else {
        context.moveTo(across(drawn.x[i]), up(y));
        pen = true;
      }
    });
    context.stroke();
  }
  context.setLineDash([]);
  context.lineWidth = 1.5;
  context.strokeStyle = soft;
  context.beginPath();
  context.moveTo(across(drawn.marker), frame.top);
  context.lineTo(across(drawn.marker), frame.bottom);
  context.stroke();
  context.restore();
}
