/* Live parts keep the reader's place: what was open stays open, nothing is fetched for a hidden
   tab, and nothing is replaced while something in it has the keyboard or is being selected. */
(function () {
  "use strict";
  var open = [];

  function inside(part, node) {
    return Boolean(node && part.contains(node));
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    var part = event.detail.elt;
    if (part.dataset.live === undefined) { return; }
    var chosen = window.getSelection();
    var selecting = chosen && !chosen.isCollapsed && inside(part, chosen.anchorNode);
    if (document.hidden || selecting || inside(part, document.activeElement)) {
      event.preventDefault();
    }
  });

  document.addEventListener("htmx:beforeSwap", function (event) {
    open = Array.prototype.map.call(
      event.detail.target.querySelectorAll("details[open][id]"),
      function (element) { return element.id; }
    );
  });

  document.addEventListener("htmx:afterSwap", function () {
    open.forEach(function (id) {
      var element = document.getElementById(id);
      if (element) { element.open = true; }
    });
  });
})();
