/// The look of the review page: light and dark, on a wide screen, a phone and paper. The contrast of colours with the background is at
/// least 4.5 for text and 3 for graphics.
enum PageStyle {
    static let css = """
        :root { color-scheme: light dark;
          --ground: #ffffff; --card: #f5f6f8; --ink: #1c2024; --soft: #565e68; --rule: #d5d9df;
          --kept: #4f7fae; --expired: #c2541b; --good: #1d7a3f; --caution: #8a5a00; --bad: #b3261e; }
        @media (prefers-color-scheme: dark) { :root {
          --ground: #14171a; --card: #1e2327; --ink: #e8eaed; --soft: #a9b1ba; --rule: #3a4147;
          --kept: #7fb0dd; --expired: #f0935a; --good: #6fcf8d; --caution: #e6b450; --bad: #ff8a80; } }
        * { box-sizing: border-box; }
        body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--ground); color: var(--ink);
          font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
        h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; padding-bottom: .25rem; border-bottom: 1px solid var(--rule); }
        h3 { font-size: 1rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
        p { margin: .25rem 0 .75rem; } .soft { color: var(--soft); } code { overflow-wrap: anywhere; font-size: .9em; }
        dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.75rem, 1fr)); gap: .6rem; margin: 1rem 0; }
        dl.facts > div { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }
        dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
        dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--soft); }
        .good { color: var(--good); } .caution { color: var(--caution); } .bad { color: var(--bad); }
        .wide { overflow-x: auto; margin: .5rem 0 1rem; } .wide:focus-visible { outline: 2px solid var(--kept); }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
        caption { text-align: start; color: var(--soft); font-size: .85rem; padding-bottom: .25rem; }
        th, td { text-align: start; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--rule); }
        th { font-weight: 600; } tbody th { white-space: nowrap; } td:last-child { min-width: 8rem; }  thead th { color: var(--soft); font-size: .85rem; white-space: nowrap; }
        .number { text-align: end; white-space: nowrap; } time { white-space: nowrap; }
        tr.bad, tr.caution { color: inherit; } tr.bad > :first-child { box-shadow: inset 3px 0 var(--bad); padding-left: .6rem; }
        tr.caution > :first-child { box-shadow: inset 3px 0 var(--caution); padding-left: .6rem; }
        .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1.25rem; }
        figure { margin: 0; min-width: 0; } figcaption { color: var(--soft); font-size: .85rem; }
        svg { display: block; width: 100%; max-width: 34rem; height: auto; font-size: 12px; }
        svg text { fill: var(--soft); } svg text.strong { fill: var(--ink); font-weight: 600; }
        .grid { stroke: var(--rule); stroke-width: 1; } .mark { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
        rect.kept, rect.deleted, .point { fill: var(--kept); } rect.expired { fill: var(--expired); }
        .course { fill: none; stroke: var(--kept); stroke-width: 2; stroke-linejoin: round; }
        .key { display: inline-block; width: .75em; height: .75em; border-radius: 2px; vertical-align: baseline; }
        .key.kept { background: var(--kept); } .key.expired { background: var(--expired); }
        summary { cursor: pointer; color: var(--soft); font-size: .85rem; } ul { padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
        @media print {
          :root { --ground: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --rule: #999999; --kept: #4f7fae;
            --expired: #c2541b; --good: #000000; --caution: #000000; --bad: #000000; }
          body { max-width: none; padding: 0; font-size: 10pt; } dl.facts > div { border: 1px solid var(--rule); }
          figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .wide { overflow: visible; }
          summary { list-style: none; } details::details-content { content-visibility: visible; height: auto; } }
        """
}
