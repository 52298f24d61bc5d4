/* Draw a slot over the lanes of the calendar: where it begins and ends goes into the form, which
   is then checked as if it had been typed. The server says which instants there are and how each
   is written on the clocks of the zone, so a day of a clock change needs no arithmetic here. */
(function () {
  "use strict";
  var ROW = "#calendar[data-slots] .lanes > div > svg";
  var drawn = null;

  function slots() {
    return document.getElementById("calendar").dataset.slots.split(" ");
  }

  function portion(svg, event) {
    var box = svg.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  }

  /* How many steps the whole width is; a change of the clocks may leave a part of one. */
  function steps() {
    return parseFloat(document.getElementById("calendar").dataset.steps);
  }

  /* The numbers of the first and the last instant of what was drawn; at least one step apart. */
  function bounds(event) {
    var last = slots().length - 1;
    var here = portion(drawn.svg, event);
    var first = Math.floor(Math.min(drawn.from, here) * steps() + 1e-9);
    var end = Math.ceil(Math.max(drawn.from, here) * steps() - 1e-9);
    first = Math.min(first, last - 1);
    return [first, Math.min(last, Math.max(end, first + 1))];
  }

  function show(event) {
    var at = bounds(event);
    drawn.mark.setAttribute("x", (100 * at[0]) / steps() + "%");
    drawn.mark.setAttribute("width", (100 * (at[1] - at[0])) / steps() + "%");
  }

  function write(name, text) {
    var input = document.querySelector('.fields [name="' + name + '"]');
    /* A time that comes twice carries its offset, which only a plain line can hold. */
    input.type = text.length > 16 ? "text" : "datetime-local";
    input.value = text;
    return input;
  }

  function stop() {
    if (drawn) { drawn.mark.remove(); }
    drawn = null;
  }

  document.addEventListener("pointerdown", function (event) {
    var svg = event.target.closest && event.target.closest(ROW);
    var fine = event.pointerType !== "touch" && event.button === 0;
    if (!svg || !fine || event.target.closest("a") || svg.closest(".hours")) { return; }
    var mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    mark.setAttribute("class", "drawn");
    mark.setAttribute("height", "100%");
    svg.appendChild(mark);
    drawn = { svg: svg, mark: mark, from: portion(svg, event) };
    show(event);
    event.preventDefault();
  });

  document.addEventListener("pointermove", function (event) {
    if (drawn) { show(event); }
  });

  document.addEventListener("pointerup", function (event) {
    if (!drawn) { return; }
    var at = bounds(event);
    var known = slots();
    stop();
    write("starts_at", known[at[0]]);
    write("ends_at", known[at[1]]).dispatchEvent(new Event("change", { bubbles: true }));
  });

  document.addEventListener("pointercancel", stop);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { stop(); }
  });
})();
