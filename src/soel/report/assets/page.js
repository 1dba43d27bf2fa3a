(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const config = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false, // plotly would offer to upload the data
    plotlyServerURL: "",
    displayModeBar: touch.matches ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  // Only values under a colour key are names of CSS variables; everything else is data and stays as it is.
  function paint(value, key, style) {
    if (typeof value === "string") {
      return /color/.test(key) && value.startsWith("--") ? style.getPropertyValue(value).trim() : value;
    }
    if (Array.isArray(value)) {
      return value.map((entry) => paint(entry, key, style));
    }
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, paint(entry, name, style)]));
    }
    return value;
  }

  function draw() {
    const style = window.getComputedStyle(document.documentElement);
    for (const figure of figures) {
      const layout = paint(figure.layout, "", style);
      layout.font.family = style.getPropertyValue("--font");
      layout.dragmode = touch.matches ? false : "zoom"; // a finger scrolls the page, not the plot
      window.Plotly.react("plot-" + figure.name, paint(figure.traces, "", style), layout, config);
    }
  }

  dark.addEventListener("change", draw);
  draw();
})();
