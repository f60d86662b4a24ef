// The page's own script: colours of day and night, printing, and the player.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const redraws = [];
  const redraw = () => redraws.forEach((each) => each());

  // Light or dark: as the system says, until the reader says otherwise.
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = find("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const tellTheme = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    redraw();
  };
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tellTheme();
  });
  prefersDark.addEventListener("change", tellTheme);

  // What does not fit is moved inside its frame: by keys too, where there is something to move.
  const tellFrames = () => {
    for (const each of document.querySelectorAll(".frame")) {
      if (each.scrollWidth > each.clientWidth) each.setAttribute("tabindex", "0");
      else each.removeAttribute("tabindex");
    }
  };
  new ResizeObserver(tellFrames).observe(document.body);

  // Paper has no buttons to open anything with.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((each) => each.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => opened.forEach((each) => each.removeAttribute("open")));

  const source = find("player-data");
  if (source) play(JSON.parse(source.textContent));
  tellTheme();

  function play(told) {
    const { missing, times } = told;
    const picture = { ...told.picture, missing };
    const width = picture.labels.length;
    const places = new Float32Array(bytes(picture.places).buffer);
    const points = places.length / width;
    if (!picture.line) {
      picture.corners = new Uint16Array(bytes(picture.corners).buffer);
      picture.shares = bytes(picture.shares);
    }
    const tables = Object.fromEntries(Object.entries(told.colours).map(([n, t]) => [n, bytes(t)]));
    const read = new Map();
    const slider = find("time");
    const kinds = picture.line ? ["field", "error"] : Object.keys(told.channels[0].kinds);
    let chosen = told.start;
    let timer = null;

    /** Kinds of the channel that is shown, decoded when they are first needed. */
    function channel() {
      const number = Number(find("channel").value);
      if (!read.has(number)) {
        const each = told.channels[number];
        const numbers = Object.entries(each.kinds).map(([kind, its]) => [kind, new Numbers(its, points, missing)]);
        read.set(number, { ...each, kinds: Object.fromEntries(numbers) });
      }
      return read.get(number);
    }

    function nearest(place) {
      let best = 0;
      let least = Infinity;
      for (let point = 0; point < points; point += 1) {
        let far = 0;
        for (let axis = 0; axis < width; axis += 1) {
          const size = picture.extent[2 * axis + 1] - picture.extent[2 * axis] || 1;
          far += ((places[point * width + axis] - place[axis]) / size) ** 2;
        }
        if (far < least) [least, best] = [far, point];
      }
      return best;
    }

    const at = (axis) => places[chosen * width + axis];
    const frame = () => Number(slider.value);

    function show() {
      const now = frame();
      const shown = channel();
      const step = told.steps[now];
      const moment = `${times[now]}, step ${step}`;
      find("moment").textContent = moment;
      slider.setAttribute("aria-valuetext", moment);
      tellNumbers(shown, now);
      if (picture.line) showLines(shown, now);
      else showMaps(shown, now);
      showPoint(shown, now);
    }

    function tellNumbers(shown, now) {
      const its = shown.numbers[now];
      const unit = shown.units ? ` ${shown.units}` : "";
      const parts = [];
      if (its.error !== null) parts.push(`rms error ${its.error}${unit}`);
      if (its.persistence !== null) parts.push(`persistence ${its.persistence}${unit}`);
      if (its.expected !== null) parts.push(`expected ${its.expected}${unit}`);
      if (its.inside !== null) parts.push(`${its.inside} of the true values in 90% intervals`);
      find("numbers").textContent = `${shown.name}: ${parts.join("; ") || "nothing was observed"}`;
    }

    function showMaps(shown, now) {
      for (const kind of kinds) {
        const its = shown.kinds[kind];
        const canvas = find(`panel-${kind}`);
        paint(canvas, picture, its.frame(now), its.limits, tables[its.colours]);
        canvas.style.aspectRatio = String(1 / picture.ratio);
        canvas.parentElement.classList.toggle("exact", picture.mixed === 1);
        paintScale(find(`scale-${kind}`), tables[its.colours]);
        find(`low-${kind}`).textContent = brief(its.limits[0]);
        find(`high-${kind}`).textContent = brief(its.limits[1]);
        find(`unit-${kind}`).textContent = shown.title;
        const marker = canvas.nextElementSibling;
        const [left, right, bottom, top] = picture.extent;
        marker.style.display = "block";
        marker.style.left = `${(100 * (at(0) - left)) / (right - left)}%`;
        marker.style.top = `${(100 * (top - at(1))) / (top - bottom)}%`;
      }
    }

    /** Fields on a line, with twice the standard deviation on either side. */
    function showLines(shown, now) {
      const [truth, forecast, error] = ["truth", "forecast", "error"].map((kind) => shown.kinds[kind].frame(now));
      const deviation = shown.kinds.deviation ? shown.kinds.deviation.frame(now) : null;
      const common = { x: places, marker: at(0), label: picture.labels[0] };
      const around = (y) => (deviation ? [{ low: y.map((v, i) => v - 2 * deviation[i]), high: y.map((v, i) => v + 2 * deviation[i]) }] : []);
      plot(find("panel-field"), {
        ...common, bands: around(forecast), limits: roomy(shown.kinds.truth.limits),
        lines: [{ y: truth, width: 1.5 }, { y: forecast, width: 2, dash: [7, 4], accent: true }],
      });
      plot(find("panel-error"), {
        ...common, bands: around(new Float64Array(points)), limits: roomy(shown.kinds.error.limits),
        lines: [{ y: error, width: 2, accent: true }],
      });
      for (const kind of kinds) find(`unit-${kind}`).textContent = shown.title;
    }

    function roomy(limits) {
      const room = 0.08 * (limits[1] - limits[0]) || 1;
      return [limits[0] - room, limits[1] + room];
    }

    function showPoint(shown, now) {
      const unit = shown.units ? ` ${shown.units}` : "";
      const place = picture.labels.map((label, axis) => `${label} ${coordinate(axis)}`);
      find("value-place").textContent = place.join(", ");
      for (const [kind, its] of Object.entries(shown.kinds)) {
        const text = its.text(now, chosen);
        find(`value-${kind}`).textContent = text === "no value" ? text : text + unit;
      }
      showCourse(shown, now);
    }

    /** To five digits of the extent: what is left of single precision there. */
    function coordinate(axis) {
      const size = picture.extent[2 * axis + 1] - picture.extent[2 * axis] || 1;
      const digits = Math.min(Math.max(4 - Math.floor(Math.log10(size)), 0), 20);
      return Number(at(axis).toFixed(digits));
    }

    function showCourse(shown, now) {
      const truth = shown.kinds.truth.course(chosen);
      const forecast = shown.kinds.forecast.course(chosen);
      const deviation = shown.kinds.deviation ? shown.kinds.deviation.course(chosen) : null;
      const known = [...truth, ...forecast].filter((value) => !Number.isNaN(value));
      const limits = roomy(known.length ? [Math.min(...known), Math.max(...known)] : [0, 1]);
      const bands = deviation
        ? [{ low: forecast.map((v, i) => v - 2 * deviation[i]), high: forecast.map((v, i) => v + 2 * deviation[i]) }]
        : [];
      const canvas = find("series");
      plot(canvas, {
        x: told.steps, bands, limits, marker: told.steps[now], label: "steps ahead",
        lines: [{ y: truth, width: 1.5 }, { y: forecast, width: 2, dash: [7, 4], accent: true }],
      });
      canvas.setAttribute("aria-label",
        `${shown.name} at this point over all times. Truth from ${brief(truth[0])} to ${brief(truth[truth.length - 1])}, ` +
        `forecast from ${brief(forecast[0])} to ${brief(forecast[forecast.length - 1])}.`);
    }

    // Time.
    function go(number) {
      slider.value = String((number + times.length) % times.length);
      show();
    }
    // A voice reads what changes, but not while it plays.
    function tell(how) {
      for (const id of ["numbers", "values"]) find(id).setAttribute("aria-live", how);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      find("play").textContent = "Play";
      tell("polite");
    }
    find("play").addEventListener("click", () => {
      if (timer !== null) {
        stop();
        return;
      }
      find("play").textContent = "Pause";
      tell("off");
      timer = setInterval(() => go(frame() + 1), 350);
    });
    find("back").addEventListener("click", () => { stop(); go(frame() - 1); });
    find("on").addEventListener("click", () => { stop(); go(frame() + 1); });
    slider.addEventListener("input", () => { stop(); show(); });
    find("channel").addEventListener("change", show);

    // A point: by pointer or by keys.
    function choose(point) {
      chosen = point;
      show();
    }
    function pick(event) {
      const canvas = event.currentTarget;
      const box = canvas.getBoundingClientRect();
      if (picture.line) {
        choose(nearest([canvas.unproject(event.clientX - box.left)]));
        return;
      }
      const [left, right, bottom, top] = picture.extent;
      const x = left + ((event.clientX - box.left) / box.width) * (right - left);
      const y = top - ((event.clientY - box.top) / box.height) * (top - bottom);
      choose(nearest([x, y]));
    }
    const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    function move(event) {
      const step = STEPS[event.key];
      if (!step || (picture.line && step[1])) return;
      event.preventDefault();
      // As far as it takes to come to another point.
      for (let far = 1; far <= 64; far += 1) {
        const place = Array.from({ length: width }, (_, axis) => {
          const size = picture.extent[2 * axis + 1] - picture.extent[2 * axis];
          return at(axis) + (step[axis] * far * size) / (picture.line ? points : 128);
        });
        const point = nearest(place);
        if (point !== chosen) {
          choose(point);
          return;
        }
      }
    }
    for (const kind of kinds) {
      const canvas = find(`panel-${kind}`);
      canvas.addEventListener("pointerdown", pick);
      canvas.addEventListener("keydown", move);
    }

    find("panels").classList.toggle("lines", picture.line);
    find("panels").classList.toggle("broad", picture.line || picture.ratio < 0.6);
    redraws.push(show);
    new ResizeObserver(() => requestAnimationFrame(show)).observe(find("panels"));
  }
})();
