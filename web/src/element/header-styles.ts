/**
 * The style sheet of the header: one for all elements, made without markup so that a strict policy allows it.
 *
 * The newest line of a live block loses its beginning where there is no room, not its end: its box runs against the direction
 * of its text. What streams has no say in how wide the element is: its root is contained, and an invisible line of two words, 40rem
 * long and broken where there is less room, stands for it wherever the page sizes it by its content.
 *
 * Logical properties only. Colours come from the page's text colour and `color-scheme`; every one of them
 * can be set through a custom property.
 */

const CSS = `
:host{display:block;min-inline-size:0;--k:var(--thinking-background,light-dark(#f7f7f9,#1c1c21));--c:var(--thinking-color,light-dark(#3d3d45,#d2d2d8));--m:var(--thinking-muted-color,light-dark(#62626d,#a0a0ac));--b:var(--thinking-border,light-dark(#e3e3e8,#34343b));--l:1px solid var(--b);--a:var(--thinking-accent,light-dark(#5b53c9,#a8a2ff));--e:var(--thinking-error-color,light-dark(#b3261e,#ff8f87));--r:var(--thinking-radius,.75rem);--g:var(--thinking-gap,.5rem);--i:calc(1.25rem + var(--g));--t:var(--thinking-duration,200ms) var(--thinking-easing,ease-out);color:var(--c);font:var(--thinking-font,400 var(--thinking-font-size,.875rem)/1.5 system-ui,sans-serif);text-align:start}
:host::before{content:". .";display:block;block-size:0;overflow:hidden;visibility:hidden;word-spacing:40rem}
:host([hidden]),:host(:state(empty):not([headless],:state(placeholder))),summary::-webkit-details-marker{display:none}
[hidden]{display:none!important}
*{box-sizing:border-box}
.root{border:var(--l);border-radius:var(--r);background:var(--k);overflow:clip;interpolate-size:allow-keywords;container-type:inline-size}
[data-bare]{border:0;background:none}
summary{display:flex;align-items:center;gap:.25rem var(--g);min-block-size:2.5rem;padding:.5rem .75rem;cursor:pointer;list-style:none;-webkit-user-select:none}
:focus-visible{outline:var(--thinking-focus-ring,2px solid var(--a));outline-offset:-2px;border-radius:var(--r)}
svg{inline-size:var(--thinking-icon-size,1rem);flex:none;fill:none;stroke:currentColor;stroke-width:1.4;stroke-linecap:round;stroke-linejoin:round}
.icon,.chevron{display:grid;place-items:center;min-inline-size:1.25rem}
.label{font-weight:550;color:var(--c)}
.label,.timer,.meta,.preview,.badge{white-space:nowrap;font-variant-numeric:tabular-nums}
summary,.bidi,.marker,.notice{color:var(--m)}
.badge,.marker{font-size:.8125rem}
.label[data-check]::before{content:"✓ "/""}
.meta::before{content:"·"/"";margin-inline-end:var(--g)}
summary:dir(rtl)>.meta:dir(ltr)::before{content:none}
summary:dir(rtl)>.meta:dir(ltr)::after{content:"·"/"";margin-inline-start:var(--g)}
[data-header=auto]:not([data-open=peek]) .summary>.preview::before{content:"— "/""}
.label,.preview,.meta,.badge{min-inline-size:0;overflow:hidden;text-overflow:ellipsis}
.timer,.chevron,.icon{flex:none}
.preview{flex:1 1 0}
.summary:dir(ltr)>.preview:dir(rtl)::before,.summary:dir(rtl)>.preview:dir(ltr)::before{content:none!important}
.label,.badge{unicode-bidi:plaintext}
.badge{margin-inline-start:auto;padding:0 .5rem;border:var(--l);border-radius:1rem}
.badge svg{inline-size:.875rem;vertical-align:-.25em;margin-inline:.1875rem}
.chevron{margin-inline-start:auto;transition:rotate var(--t)}
.badge:not([hidden])~.chevron{margin-inline-start:0}
.chevron:dir(rtl){rotate:180deg}
[open]>summary>.chevron{rotate:90deg}
.root[data-status=error] .summary>:is(.label,.icon){color:var(--e)}
.dot{inline-size:.5rem;block-size:.5rem;border-radius:50%;background:var(--a)}
[data-open=peek] .summary{flex-wrap:wrap}
[data-open=peek] .summary>.preview{order:1;flex-basis:100%;min-block-size:1lh;padding-inline:0 var(--i);font-style:italic}
[data-open=peek] .summary>.preview:dir(ltr){direction:rtl;text-align:left}
[data-open=peek] .summary>.preview:dir(rtl){direction:ltr;text-align:right}
.summary>.preview>span{unicode-bidi:isolate}
.preview:dir(ltr)>span{direction:ltr}
.preview:dir(rtl)>span{direction:rtl}
[data-header=summary] .summary>.icon{order:-3}
[data-header=summary] .summary>.preview{order:-2;color:var(--c);font-weight:550}
[data-header=summary] .summary>.label{font-weight:400;color:var(--m)}
[data-header=preview][data-status=done] .summary>:is(.label,.meta),[data-header=summary] .summary>.meta{display:none}
.body,.notice{border-block-start:var(--l)}
.body{max-block-size:var(--thinking-max-block-size,20rem);overflow:auto;overflow-anchor:none;padding:.375rem .75rem .25rem;scrollbar-width:thin}
p,.body{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
.bidi{border:1px dashed;border-radius:.25rem;padding:0 .25rem;font-size:.85em;unicode-bidi:isolate}
.marker,.notice{margin:0;padding:.5rem .75rem}
.sr{position:absolute;inline-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@container (max-width:30rem){[data-open=peek] .summary>.label{max-inline-size:calc(100% - 9.5rem)}[data-header=auto] .summary,[data-header=summary] .summary{flex-wrap:wrap}[data-header=auto]:not([data-open=peek]) .summary>.preview{order:2;flex-basis:100%;padding-inline-start:var(--i)}[data-header=auto][data-header] .summary>.preview::before{content:none}[data-header=summary] .summary>.preview{flex-basis:calc(100% - 5rem)}[data-header=summary] .summary>.chevron{order:-1}[data-header=summary] .summary>.label{margin-inline-start:var(--i)}.meta,.badge span:not(:nth-child(2)),.step:not([data-kind=tool_call])>*>summary>.preview{display:none}.badge{flex:none;padding:0;border:0}}
@media (prefers-reduced-motion:reduce){:host{--t:0s}}
@media (forced-colors:active){.dot{background:CanvasText;forced-color-adjust:none}:focus-visible{outline-color:Highlight}}
@media print{.body{max-block-size:none}.chevron,.dot{display:none}}
`;

/** A style sheet that is made when the first element of a document needs it, and shared by all in there. */
export function styleSheet(css: string): (document: Document) => CSSStyleSheet {
  const sheets = new WeakMap<Document, CSSStyleSheet>();
  return (document) => {
    let sheet = sheets.get(document);
    if (!sheet) {
      // A sheet belongs to the document of the window that made it, and no other document takes it.
      sheet = new ((document.defaultView ?? window) as typeof globalThis).CSSStyleSheet();
      sheet.replaceSync(css);
      sheets.set(document, sheet);
    }
    return sheet;
  };
}

export const headerStyles = /* @__PURE__ */ styleSheet(CSS);
