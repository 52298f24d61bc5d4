/* Draws each [data-chart] with plotly.js when it comes near the screen, in the colours of the page.
   The figure stands beside it as JSON; names of colours, var(--hue-1), are resolved here. */
(function () {
  "use strict";
  var library = null;
  var probe = null;
  var seen = new WeakSet();

  function fetched(address) {
    library = library || new Promise(function (done, failed) {
      var script = document.createElement("script");
      script.src = address;
      script.onload = function () { done(window.Plotly); };
      script.onerror = failed;
      document.head.appendChild(script);
    });
    return library;
  }

  /* A token is light-dark(…) until it colours something. */
  function colour(name) {
    if (name === "--font") {
      return getComputedStyle(document.body).fontFamily;
    }
    if (!probe) {
      probe = document.createElement("span");
      probe.hidden = true;
      document.body.appendChild(probe);
    }
    probe.style.color = "var(" + name + ")";
    return getComputedStyle(probe).color;
  }

  function resolved(value) {
    if (typeof value === "string") {
      return value.replace(/^var\((--[\w-]+)\)$/, function (_, name) { return colour(name); });
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "number" ? value : value.map(resolved);
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(function (pair) { return [pair[0], resolved(pair[1])]; })
      );
    }
    return value;
  }

  function figure(frame) {
    return resolved(JSON.parse(document.getElementById(frame.dataset.chart).textContent));
  }

  function around(frame, selector) {
    return Array.prototype.slice.call(frame.closest(".chart").querySelectorAll(selector));
  }

  function draw(frame) {
    return fetched(frame.dataset.plotly).then(function (Plotly) {
      var shown = figure(frame);
      around(frame, "[data-series]").forEach(function (button) {
        if (button.getAttribute("aria-pressed") === "false") {
          shown.data[Number(button.dataset.series)].visible = false;
        }
        button.disabled = false;
      });
      /* Few upright words along a narrow axis rather than many slanted ones. */
      if (frame.clientWidth < 480 && shown.layout.xaxis.type === "date") {
        shown.layout.xaxis.nticks = 4;
        shown.layout.xaxis.tickangle = 0;
      }
      around(frame, "[data-png]").forEach(function (button) { button.disabled = false; });
      return Plotly.react(frame, shown.data, shown.layout, {
        displayModeBar: false, responsive: true, doubleClick: false, showTips: false
      });
    }).then(function () { frame.dataset.drawn = ""; });
  }

  var watcher = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    });
  }, { rootMargin: "400px" });

  function find() {
    document.querySelectorAll("[data-chart]").forEach(function (frame) {
      if (!seen.has(frame)) {
        seen.add(frame);
        watcher.observe(frame);
      }
    });
  }

  /* The picture with its title and time, on the page's paper, twice as fine as a screen. */
  function save(button) {
    var frame = document.getElementById(button.dataset.png);
    var shown = figure(frame);
    var title = button.dataset.title.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    shown.layout.paper_bgcolor = colour("--paper");
    shown.layout.showlegend = shown.data.length > 1;
    shown.data.forEach(function (trace) { trace.showlegend = true; });
    shown.layout.legend = { orientation: "h", y: -0.15 };
    shown.layout.margin = { l: 24, r: 24, t: 72, b: 24 };
    shown.layout.title = {
      text: title, x: 0, xref: "container", pad: { l: 24 }, font: { size: 18, color: colour("--ink") },
      subtitle: { text: button.dataset.asOf, font: { size: 12, color: colour("--soft") } }
    };
    fetched(frame.dataset.plotly).then(function (Plotly) {
      return Plotly.toImage(shown, { format: "svg", width: 960, height: 540 });
    }).then(function (address) {
      var picture = new Image();
      picture.onload = function () {
        var canvas = document.createElement("canvas");
        canvas.width = 1920;
        canvas.height = 1080;
        canvas.getContext("2d").drawImage(picture, 0, 0, 1920, 1080);
        var link = document.createElement("a");
        link.href = canvas.toDataURL("image/png");
        link.download = frame.id + ".png";
        link.click();
      };
      picture.src = address;
    });
  }

  document.addEventListener("click", function (event) {
    var series = event.target.closest("[data-series]");
    var png = event.target.closest("[data-png]");
    if (png) { save(png); }
    if (series) {
      var on = series.getAttribute("aria-pressed") === "false";
      var frame = series.closest(".chart").querySelector("[data-chart]");
      series.setAttribute("aria-pressed", String(on));
      window.Plotly.restyle(frame, { visible: on }, [Number(series.dataset.series)]);
    }
  });

  function again() {
    document.querySelectorAll("[data-chart][data-drawn]").forEach(draw);
  }

  document.addEventListener("htmx:afterSettle", find);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.addEventListener("beforeprint", again);
  if (document.fonts) { document.fonts.ready.then(again); }
  find();
})();
