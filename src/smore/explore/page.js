// The page: shows what the server says, and asks it for what somebody does. One request is under
// way at a time; of what is asked meanwhile the newest of its kind waits.
const byId = (id) => document.getElementById(id)
const all = (selector) => [...document.querySelectorAll(selector)]
const main = document.querySelector("main")
const waiting = new Map()
let turn = 0, busy = false, applying = false, playing = false
let fixed = {}, rows = [], settings = {}, chosen = []
const scales = {}

function ask(what, value, kind = what) {
  waiting.set(kind, {what, value})
  send()
}

function send() {
  if (busy || waiting.size == 0) return
  const [kind, request] = waiting.entries().next().value
  waiting.delete(kind)
  busy = true
  main.setAttribute("aria-busy", "true")
  desk.request = {...request, turn: ++turn}
}

desk.properties.turn.change.connect(() => {
  busy = false
  show(desk.words)
  main.setAttribute("aria-busy", String(waiting.size > 0))
  if (playing) setTimeout(forward, 120)
  send()
})

// What the server says. Only text is ever set: names come from files.
function show(words) {
  if (words.fixed) setUp(words.fixed)
  for (const [name, text] of Object.entries(words))
    for (const part of all(`[data-word="${name}"]`)) if (typeof text == "string") part.textContent = text
  for (const list of all("[data-words]")) {
    const lines = words[list.dataset.words]
    if (lines) list.replaceChildren(...lines.map((line) => element("li", line)))
  }
  for (const [name, {shades, ticks}] of Object.entries(words.scales ?? {})) {
    const same = JSON.stringify([shades, ticks])
    if (scales[name] == same) continue
    scales[name] = same
    byId(`${name}-bar`).style.background = `linear-gradient(to right, ${shades.join(", ")})`
    byId(`${name}-ticks`).replaceChildren(...ticks.map((tick) => element("span", tick)))
  }
  if (words.times) byId("step").max = words.times.length - 1
  if (words.step !== undefined && !waiting.has("step")) byId("step").value = words.step
  if (words.time) byId("step").setAttribute("aria-valuetext", words.time)
  if (words.settings) showSettings(words.settings)
  if (words.sensors && !waiting.has("draw")) showSensors(words.sensors)
  if (words.download) fetchFile(words.download)
}

function setUp(told) {
  fixed = told
  show({model: told.model, about: told.about, verdict: told.verdict, checked: told.checked, cut: told.cut, modes_about: told.modes_about})
  for (const list of all("[data-options]"))
    list.replaceChildren(...told[list.dataset.options].map((name, at) => new Option(name, at)))
  byId("measured").replaceChildren(...told.channels.map((name, at) => {
    const box = Object.assign(element("input"), {type: "checkbox", value: at})
    box.addEventListener("change", () =>
      ask("measured", all("#measured input").filter((each) => each.checked).map((each) => +each.value)))
    return labelled(name, box)
  }))
  byId("marking").replaceChildren("Marked point:", ...told.drawn.map((name) => {
    const box = Object.assign(element("input"), {type: "number", step: "any", className: "mark"})
    box.addEventListener("change", () => ask("mark", all(".mark").map((each) => +each.value)))
    return labelled(name, box)
  }))
  const titles = ["", ...told.coordinates, ...told.channels, ""]
  const head = element("tr")
  head.append(...titles.map((title, at) => {
    const cell = element("th", title)
    cell.scope = "col"
    if (title == "") cell.append(hidden(at == 0 ? "number" : "remove"))
    return cell
  }))
  byId("table").tHead.replaceChildren(head)
  byId("sequence").max = told.sequences - 1
  byId("sequence-part").hidden = told.sequences < 2
  byId("modes").tBodies[0].replaceChildren(...told.modes.map((cells) => {
    const row = element("tr")
    const button = element("button", "show")
    button.append(hidden(` mode ${cells[0]}`))
    button.addEventListener("click", () => beside("mode", +cells[0]))
    row.append(...cells.map((text) => element("td", text)), wrapped("td", button))
    return row
  }))
}

function showSettings(told) {
  settings = told
  const following = told.source == "stream"
  const there = {
    data: fixed.data != "", nodata: fixed.data == "", stream: fixed.stream != "", cut: fixed.cut != "",
    several: fixed.channels.length > 1, following, sensing: !following,
  }
  for (const part of all("[data-if]")) part.hidden = !there[part.dataset.if]
  for (const bar of all(".scale")) bar.hidden = fixed.line
  for (const control of all("[data-ask]")) {
    const value = told[control.dataset.ask]
    if (control.type == "radio") control.checked = control.value == value
    else if (control != document.activeElement || control.tagName == "SELECT") control.value = value
  }
  for (const box of all("#measured input")) box.checked = told.measured.includes(+box.value)
  all(".mark").forEach((box, at) => { if (box != document.activeElement) box.value = told.mark[at] })
  byId("sequence").value = told.sequence
  byId("origin").value = told.origin
  byId("origin").max = told.origins - 1
  byId("beside").value = told.beside
  byId("number").value = told.number
  byId("again").disabled = told.noise == "" || told.values != "data"
  byId("which").hidden = !["unseen", "mode"].includes(told.beside)
  byId("unseen").hidden = told.beside != "unseen"
}

function showSensors(told) {
  rows = told
  applying = true
  const column = (pick) => told.map(pick)
  sensors.setv({data: {
    x: column((row) => row.drawn[0]), y: column((row) => row.drawn[1]),
    number: column((row) => row.number), label: column((row) => String(row.number)),
  }}, {sync: false, check_eq: false})
  applying = false
  const body = byId("table").tBodies[0]
  const same = told.length == body.rows.length && told.every((row, at) => +body.rows[at].dataset.number == row.number)
  if (!same) body.replaceChildren(...told.map(sensorRow))
  const typed = settings.values != "data"
  told.forEach((row, at) => [...body.rows[at].querySelectorAll("input")].forEach((box, place) => {
    if (box != document.activeElement) box.value = row.cells[place]
    box.disabled = place >= fixed.coordinates.length && !typed
  }))
  markChosen()
}

function sensorRow(sensor) {
  const row = element("tr")
  row.dataset.number = sensor.number
  const head = element("th", sensor.number)
  head.scope = "row"
  const names = [...fixed.coordinates, ...fixed.channels]
  const cells = names.map((name, place) => {
    const box = Object.assign(element("input"), {type: "number", step: "any"})
    box.setAttribute("aria-label", `${name} of sensor ${sensor.number}`)
    box.addEventListener("change", () => ask("edit", [sensor.number, place, box.value], `edit ${sensor.number} ${place}`))
    return wrapped("td", box)
  })
  const button = element("button", "×")
  button.setAttribute("aria-label", `remove sensor ${sensor.number}`)
  button.addEventListener("click", () => ask("remove", sensor.number, `remove ${sensor.number}`))
  row.append(head, ...cells, wrapped("td", button))
  return row
}

function element(name, text) {
  const made = document.createElement(name)
  if (text !== undefined) made.textContent = text
  if (name == "button") made.type = "button"
  return made
}

function hidden(text) {
  return Object.assign(element("span", text), {className: "hidden"})
}

function wrapped(name, inside) {
  const made = element(name)
  made.append(inside)
  return made
}

function labelled(name, control) {
  const made = element("label", name)
  made.append(control)
  return made
}

// What somebody does.
for (const control of all("[data-ask]"))
  control.addEventListener("change", () => ask(control.dataset.ask, control.value))
byId("step").addEventListener("input", () => ask("step", +byId("step").value))
byId("more").addEventListener("click", () => ask("more", +byId("count").value))
byId("clear").addEventListener("click", () => ask("remove", 0))
byId("again").addEventListener("click", () => ask("again", 0))
byId("copy").addEventListener("click", () => navigator.clipboard.writeText(byId("command").textContent))
for (const id of ["sequence", "origin"])
  byId(id).addEventListener("change", () => ask("snapshot", [+byId("sequence").value, +byId("origin").value]))
for (const button of all("[data-download]"))
  button.addEventListener("click", () => ask("download", button.dataset.download))
const beside = (what, number) => ask("beside", [what, number])
byId("beside").addEventListener("change", () => beside(byId("beside").value, 1))
byId("number").addEventListener("change", () => beside(byId("beside").value, +byId("number").value))
byId("play").addEventListener("click", () => {
  playing = !playing
  byId("play").setAttribute("aria-pressed", String(playing))
  if (playing) forward()
})

function forward() {
  const step = byId("step")
  if (playing && !waiting.has("step")) ask("step", +step.value < +step.max ? +step.value + 1 : 0)
}

function fetchFile({key, name}) {
  const link = element("a")
  link.href = `${location.pathname.replace(/\/$/, "")}/download/${key}`
  link.download = name
  link.click()
}

// Sensors in the picture: moved while they are dragged, placed when they are let go.
let ended = false
function draw(moving) {
  const {x, y, number} = sensors.data
  ask("draw", {moving, rows: [...number].map((each, at) => [each ?? 0, x[at], y[at]])})
}
sensors.properties.data.change.connect(() => {
  if (applying) return
  ended = true
  queueMicrotask(() => { ended = false })
  draw(false)
})
sensors.change.connect(() => {
  if (!applying && !ended) draw(true)
})
byId("add").addEventListener("click", () => {
  const {x_range, y_range} = plots.field
  const taken = rows.map((row) => [row.number, ...row.drawn])
  ask("draw", {moving: false, rows: [...taken, [0, (x_range.start + x_range.end) / 2, (y_range.start + y_range.end) / 2]]})
})
// One sensor at a time: Bokeh would drag those along that were selected before.
sensors.selected.properties.indices.change.connect(() => {
  const now = sensors.selected.indices
  const fresh = now.filter((each) => !chosen.includes(each))
  if (now.length > 1) sensors.selected.indices = (fresh.length ? fresh : now).slice(-1)
  chosen = [...sensors.selected.indices]
  markChosen()
})

function markChosen() {
  ;[...byId("table").tBodies[0].rows].forEach((row, at) => row.classList.toggle("chosen", chosen.includes(at)))
}

plots.beside.on_event("tap", (event) => ask("mark", fixed.line ? [event.x] : [event.x, event.y]))
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of Object.values(plots)) plot.change.emit()
})
window.addEventListener("pagehide", () => { playing = false })

show(desk.words)
main.setAttribute("aria-busy", "false")
