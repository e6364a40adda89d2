/// The look of the review page: light and dark, on a wide screen, a phone and paper. The contrast of colours with the background is at
/// least 4.5 for text and 3 for graphics. Bars before and after the cutoff differ by lightness, by 3 at least, and in their edge. The first
/// cells of all rows have the room of the mark of some. On paper tables are tables, and folded numbers stay folded.
enum PageStyle {
    static let css = """
        :root { color-scheme: light dark; --ground: #ffffff; --ink: #1c2024; --soft: #565e68; --rule: #d5d9df;
          --kept: #1d4f7c; --expired: #f4c39a; --edge: #a8480f; --good: #1d7a3f; --caution: #8a5a00; --bad: #b3261e; }
        @media screen and (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e8eaed; --soft: #a9b1ba; --rule: #3a4147;
          --kept: #9cc7ee; --expired: #74360f; --edge: #f0935a; --good: #6fcf8d; --caution: #e6b450; --bad: #ff8a80; } }
        * { box-sizing: border-box; }
        body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 80rem; background: var(--ground); color: var(--ink);
          font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; }
        h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; padding-bottom: .25rem; border-bottom: 1px solid var(--rule); }
        h3 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; } h4 { font-size: .9rem; margin: 0; color: var(--soft); }
        p { margin: .25rem 0 .75rem; } .soft, dt, caption, thead th, figcaption, summary { color: var(--soft); } code { font-size: .9em; }
        dl { margin: 1rem 0 .25rem; } dl > div { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .4rem 0; border-top: 1px solid var(--rule); }
        dt { flex: 0 0 5.5rem; } dd { flex: 1 1 18rem; margin: 0; font-weight: 600; } ul { margin: 0; padding-left: 1.2rem; } li { margin: .15rem 0; }
        .good { color: var(--good); } .caution { color: var(--caution); } .bad { color: var(--bad); }
        .wide, .narrow { overflow-x: auto; margin: .5rem 0 1rem; } [tabindex]:focus-visible { outline: 2px solid var(--kept); }
        table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
        caption, th, td { text-align: start; vertical-align: top; padding: .35rem .5rem .35rem 0; overflow-wrap: break-word; }
        th, td { border-bottom: 1px solid var(--rule); } tr > :first-child { padding-left: .6rem; } th { font-weight: 600; } .number { text-align: end; } td.number, .short { white-space: nowrap; } td.long { min-width: 6rem; overflow-wrap: anywhere; }
        tr.bad, tr.caution { color: inherit; } tr.bad > :first-child { box-shadow: inset 3px 0 var(--bad); padding-left: .6rem; }
        tr.caution > :first-child { box-shadow: inset 3px 0 var(--caution); padding-left: .6rem; }
        .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem 1.5rem; }
        figure { margin: 0; min-width: 0; } figcaption, summary { font-size: .85rem; } summary { cursor: pointer; }
        figure > svg { display: block; width: 100%; max-width: 28rem; height: auto; font-size: 13px; }
        .key { display: inline-block; width: .8em; height: .8em; margin-left: .6em; vertical-align: baseline; }
        svg text { fill: var(--soft); } svg text.strong { fill: var(--ink); font-weight: 600; } polyline { fill: none; }
        .grid { stroke: var(--rule); stroke-width: 1; } .mark { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
        rect.kept { fill: var(--kept); } rect.expired { fill: var(--expired); stroke: var(--edge); stroke-width: .8; }
        rect.today { fill: var(--ground); stroke: var(--kept); stroke-width: .8; }
        .course { stroke: var(--kept); stroke-width: 2; } .course.archives { stroke: var(--edge); stroke-dasharray: 5 3; }
        @media screen and (min-width: 70rem) and (max-width: 90rem) { .wide:not(.few) td.short { white-space: normal; } .wide table { font-size: .78rem; } }
        @media screen and (max-width: 70rem) { .wide thead { display: none; } .wide table, .wide tbody, .wide caption { display: block; }
          .wide tr { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; padding: .5rem 0 .5rem .6rem; border-bottom: 1px solid var(--rule); }
          .wide tr.bad { box-shadow: inset 3px 0 var(--bad); } .wide tr.caution { box-shadow: inset 3px 0 var(--caution); }
          .wide th, .wide td { display: block; border: 0; padding: 0; text-align: start; }
          .wide tr > th:first-child { flex: 1 0 100%; padding-left: 0; box-shadow: none; }
          .wide td:empty, .wide th:empty { display: none; }
          .wide td[data-label]::before { content: attr(data-label); display: block; color: var(--soft); font-size: .75rem; } }
        @media print { body { max-width: none; padding: 0; font-size: 9.5pt; } h2 { margin-top: 1.2rem; }
          figure, tr, li { break-inside: avoid; } h2, h3, h4, p, caption, thead { break-after: avoid; } .wide, .narrow { overflow: visible; }
          .wide table { font-size: .53rem; } .wide td.short { white-space: normal; } .wide th, .wide td { padding-right: .3rem; } td.long { min-width: 3rem; }
          .narrow table { font-size: .7rem; } .narrow th, .narrow td { padding: 0 .5rem 0 0; } summary { display: none; } .figures { grid-template-columns: 1fr 1fr; } }
        """
}
