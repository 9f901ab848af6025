// The page's script: values under the pointer or, with the arrow keys, at the cursor; smoothing; loading again. Without
// it, the page shows everything else.
#pragma once

#include "report/page/html.h"

namespace cnntrain::report {

inline constexpr Literal kScript = R"(
//<![CDATA[
'use strict';
(function () {
  function numbers(text) { return text ? text.split(' ').map(Number) : []; }
  function short(value) { return Number(value.toPrecision(4)).toString(); }
  function smoothed(values, weight) {
    var mean = 0, total = 0;
    return values.map(function (value) {
      mean = weight * mean + (1 - weight) * value;
      total = weight * total + (1 - weight);
      return mean / total;
    });
  }
  var name = 'http://www.w3.org/2000/svg';
  var charts = Array.prototype.map.call(document.querySelectorAll('svg.lines'), function (svg) {
    var s = numbers(svg.dataset.scale);
    var chart = {
      svg: svg, at: -1, unit: svg.dataset.unit, axis: svg.dataset.axis,
      x: function (v) { return s[2] + (v - s[0]) / (s[1] - s[0]) * (s[3] - s[2]); },
      y: function (v) { return s[6] + (v - s[4]) / (s[5] - s[4]) * (s[7] - s[6]); },
      value: function (place) { return s[0] + (place - s[2]) / (s[3] - s[2]) * (s[1] - s[0]); },
      lines: Array.prototype.map.call(svg.querySelectorAll('polyline'), function (line) {
        var y = numbers(line.dataset.y);
        return { element: line, name: line.dataset.name, noisy: line.dataset.noisy === '1',
                 x: numbers(line.dataset.x), y: y, shown: y, raw: null };
      }),
      cursor: document.createElementNS(name, 'line'), readout: document.createElement('p')
    };
    chart.cursor.setAttribute('class', 'cursor');
    chart.cursor.setAttribute('y1', s[7]);
    chart.cursor.setAttribute('y2', s[6]);
    chart.cursor.style.display = 'none';
    svg.appendChild(chart.cursor);
    chart.readout.className = 'readout';
    chart.readout.setAttribute('aria-live', 'polite');
    chart.readout.textContent = '\u00a0';
    svg.insertAdjacentElement('afterend', chart.readout);
    chart.places = chart.lines.reduce(function (all, line) { return all.concat(line.x); }, [])
      .sort(function (a, b) { return a - b; })
      .filter(function (v, i, all) { return i === 0 || v !== all[i - 1]; });
    return chart;
  });
  function nearest(values, value) {
    return values.reduce(function (best, v, i) {
      return best === -1 || Math.abs(v - value) < Math.abs(values[best] - value) ? i : best;
    }, -1);
  }
  function show(chart, index) {
    var value = chart.places[index], place = chart.x(value).toFixed(1);
    chart.at = index;
    chart.cursor.style.display = '';
    chart.cursor.setAttribute('x1', place);
    chart.cursor.setAttribute('x2', place);
    chart.readout.textContent = chart.axis + ' ' + short(value) + ': ' + chart.lines.map(function (line) {
      return line.name + ' ' + short(line.shown[nearest(line.x, value)]) + chart.unit;
    }).join(', ');
  }
  function hide(chart) {
    chart.at = -1;
    chart.cursor.style.display = 'none';
    chart.readout.textContent = '\u00a0';
  }
  charts.forEach(function (chart) {
    var svg = chart.svg;
    svg.addEventListener('pointermove', function (event) {
      var box = svg.getBoundingClientRect();
      show(chart, nearest(chart.places, chart.value((event.clientX - box.left) / box.width * 400)));
    });
    svg.addEventListener('pointerleave', function () { hide(chart); });
    svg.setAttribute('tabindex', '0');
    svg.addEventListener('blur', function () { hide(chart); });
    svg.addEventListener('keydown', function (event) {
      var step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) { return; }
      event.preventDefault();
      show(chart, Math.max(0, Math.min(chart.places.length - 1, chart.at + step)));
    });
  });
  var control = document.getElementById('smooth');
  if (control) {
    control.parentElement.hidden = false;
    control.addEventListener('input', function () {
      var weight = Number(control.value);
      charts.forEach(function (chart) {
        chart.lines.forEach(function (line) {
          if (!line.noisy) { return; }
          line.shown = weight === 0 ? line.y : smoothed(line.y, weight);
          if (!line.raw) {
            line.raw = line.element.cloneNode();
            line.raw.setAttribute('class', line.element.getAttribute('class') + ' raw');
            line.element.parentNode.insertBefore(line.raw, line.element);
          }
          line.raw.style.display = weight === 0 ? 'none' : '';
          line.element.setAttribute('points', line.x.map(function (x, i) {
            return chart.x(x).toFixed(1) + ',' + chart.y(line.shown[i]).toFixed(1);
          }).join(' '));
        });
      });
    });
  }
  var again = Number(document.body.dataset.reload);
  if (again) { setTimeout(function () { location.reload(); }, 1000 * again); }
}());
//]]>
)";

}  // namespace cnntrain::report
