/** The style sheet of what is behind the header: steps, markdown, footer. It comes after the header's and uses its names. */

import { styleSheet } from "./header-styles.js";

const CSS = `
::details-content{block-size:0;opacity:0;transition:block-size var(--t),opacity var(--t),content-visibility var(--t);transition-behavior:allow-discrete;overflow:clip}
[open]::details-content{block-size:auto;opacity:1}
.instant ::details-content{transition:none}
.footer,.status,.placeholder,.actions,.code-bar{display:flex;align-items:center;gap:.25rem var(--g)}
.image{border:1px dashed;border-radius:.25rem;padding:0 .25rem;font-size:.85em;unicode-bidi:isolate}
.status,.tokens,.waited,.step-index,.step-state{white-space:nowrap;font-variant-numeric:tabular-nums}
.image,.footer,.footer button,.outside,.code-bar,blockquote,.placeholder,.provenance,.step-notice,.io,li::marker{color:var(--m)}
.footer,.outside,.notice button,.code-bar,.provenance,.io{font-size:.8125rem}
.footer>:not(:first-child,.actions,.budget)::before{content:"·"/"";margin-inline-end:var(--g)}
.footer:dir(rtl)>:dir(ltr)::before{content:none!important}
.footer:dir(rtl)>:not(:first-child,.actions,.budget):dir(ltr)::after{content:"·"/"";margin-inline-start:var(--g)}
.footer svg{inline-size:.875rem}
.actions,.copy-code{margin-inline-start:auto}
.actions{flex-wrap:wrap;justify-content:end}
[open]>.summary{background:var(--k);position:sticky;inset-block-start:0;z-index:1}
[data-status=error]>*>summary>.step-state{color:var(--e)}
.body{white-space:normal}
.outside{display:flex;justify-content:end;padding:0 .75rem .375rem}
.notice button{margin-inline-start:.25rem;text-decoration:underline}
.footer{border-block-start:var(--l);flex-wrap:wrap;padding:.25rem .75rem}
.budget{inline-size:4rem;block-size:.5rem}
button{font:inherit;color:inherit;background:none;border:0;border-radius:.375rem;min-block-size:1.5rem;padding:0 .375rem;cursor:pointer;white-space:nowrap}
button:hover{background:var(--b)}
pre,.plain,.result:not(.text){white-space:pre-wrap;unicode-bidi:plaintext}
.section,.code-part{display:block}
p,ul,ol,table,.code,blockquote,hr{margin:.5rem 0}
.body::after{content:"";position:sticky;inset-block-end:-.25rem;display:block;block-size:1rem;background:linear-gradient(transparent,var(--k));pointer-events:none}
.body.all{max-block-size:none!important}
.step{position:relative}
.step:not(:last-child)::before{content:"";position:absolute;inset-block:1.75rem -.25rem;inset-inline-start:.625rem;border-inline-start:1px solid var(--b)}
.step-time{margin-inline-start:auto;color:var(--m);font-size:.8125rem;white-space:nowrap;font-variant-numeric:tabular-nums}
.step-time:not([hidden])~.chevron{margin-inline-start:0}
summary:dir(rtl)>.step-time:dir(ltr){margin-inline:0 auto}
ol.timeline{list-style:none;margin:.25rem 0;padding:0}
.bar-row{display:grid;grid-template-columns:minmax(min(8rem,40%),30%) 1fr 4rem;align-items:center;gap:.5rem;min-block-size:1.75rem}
.bar-name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.bar-track{display:flex;border-radius:.25rem;background:var(--b)}
.bar{block-size:.625rem;border-radius:.25rem;background:var(--m)}
[data-kind=reasoning]>*>.bar{background:var(--a)}
.bar-time{text-align:end;color:var(--m);font-size:.8125rem;font-variant-numeric:tabular-nums}
.past{content-visibility:auto;contain-intrinsic-block-size:auto 150rem}
li>p,.step-body .content>:not(.text){margin-block:.125rem}
.text{display:flow-root;margin-block:-.375rem}
ul,ol{padding-inline-start:1.375rem}
.heading,strong,th{font-weight:650}
blockquote,.steps .steps{padding-inline-start:.75rem;border-inline-start:2px solid var(--thinking-rule-color,var(--b))}
hr{border:0;border-block-start:var(--l)}
a{color:var(--a)}
code,pre,[data-kind=tool_call]>*>summary>.label{font-family:var(--thinking-code-font,ui-monospace,Menlo,Consolas,monospace);font-size:.9375em}
:not(pre)>code{background:var(--b);border-radius:.25rem;padding:0 .25rem}
pre{margin:0;padding:.5rem .75rem;direction:ltr;text-align:left}
.code,pre.input{border:var(--l);border-radius:.5rem}
.code-bar{padding-inline:.75rem .25rem;border-block-end:var(--l)}
table{border-collapse:collapse}
th,td{border:var(--l);padding:.125rem .5rem;text-align:start}
.steps{list-style:none;margin:0;padding:0}
.step summary{min-block-size:2rem;padding:.25rem .375rem;margin-inline:-.375rem}
.step .label{overflow:hidden;text-overflow:ellipsis}
.step .preview{min-inline-size:2rem}
.step-body{padding-block-end:.5rem;padding-inline-start:var(--i)}
@media print{.actions,.copy-code,.body::after{display:none}.past{content-visibility:visible}}
`;

export const bodyStyles = /* @__PURE__ */ styleSheet(CSS);
