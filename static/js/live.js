/* Live parts keep the reader's place: what was open stays open, what had the keyboard keeps it,
   nothing is fetched for a hidden tab, and nothing is replaced while it is typed in or selected. */
(function () {
  "use strict";
  var place = { open: [], focus: null };

  function inside(part, node) {
    return Boolean(node && part.contains(node));
  }

  function busy(part) {
    var active = document.activeElement;
    var chosen = window.getSelection();
    var typing = inside(part, active) && /^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName);
    return typing || (chosen && !chosen.isCollapsed && inside(part, chosen.anchorNode));
  }

  /* How to find the element again in what replaces it. */
  function address(element) {
    if (element.id) { return "#" + CSS.escape(element.id); }
    if (element.tagName === "SUMMARY" && element.parentElement.id) {
      return "#" + CSS.escape(element.parentElement.id) + " > summary";
    }
    var href = element.getAttribute("href");
    return href ? 'a[href="' + CSS.escape(href) + '"]' : null;
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    var part = event.detail.elt;
    if (part.dataset.live !== undefined && (document.hidden || busy(part))) {
      event.preventDefault();
    }
  });

  document.addEventListener("htmx:beforeSwap", function (event) {
    var part = event.detail.target;
    if (part.dataset.live === undefined) { return; }
    if (busy(part)) {
      event.detail.shouldSwap = false;
      return;
    }
    place.focus = inside(part, document.activeElement) ? address(document.activeElement) : null;
    place.open = Array.prototype.map.call(
      part.querySelectorAll("details[open][id]"),
      function (element) { return element.id; }
    );
  });

  document.addEventListener("htmx:afterSettle", function () {
    place.open.forEach(function (id) {
      var element = document.getElementById(id);
      if (element) { element.open = true; }
    });
    var element = place.focus && document.querySelector(place.focus);
    if (element) { element.focus({ preventScroll: true }); }
    place = { open: [], focus: null };
  });
})();
