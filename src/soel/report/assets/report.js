// The map of a report; `PointMap` comes before this. Without a script everything else is there.
// On paper the settings are open.
const settings = document.querySelector("#settings details");
let wasOpen = settings.open;
addEventListener("beforeprint", () => ([wasOpen, settings.open] = [settings.open, true]));
addEventListener("afterprint", () => (settings.open = wasOpen));

const points = JSON.parse(document.getElementById("points").textContent);
const words = document.getElementById("map-words");
const map = new PointMap(document.getElementById("map"), (row) => (words.textContent = points.words[row]));
map.show({ x: Float32Array.from(points.x), y: Float32Array.from(points.y), score: Float32Array.from(points.score) }, points.labelled);
