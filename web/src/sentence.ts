/**
 * The first sentence of a thought that says something, without the words that only clear the throat.
 *
 * A part of the package's `view.summary` that most pages never need: the element loads it once a header
 * wants a summary and nobody wrote one. It takes what it needs from the caller, so it stands alone.
 */

const FEWEST_WORDS = 3;

const SENTENCE_END = /(?<=[.!?…])\s+(?=(?![a-zß-öø-ÿ])[\p{L}\p{Nl}\p{No}]|[\d"'“«([¿¡])|(?<=[。！？])/u;
const FILLER =
  /^(?:(?:okay|ok|alright|all right|hmm+|hm|um+|uh+|oh|ah|hum|tá(?: bom)?)(?![\p{L}\p{N}_])[\s,.:;!…–—-]*|(?:so|well|now|right|sure|wait|great|let(?: me|'?s) (?:think|see)(?: about (?:this|that|it))?|bem|bom|certo|então|agora|espera|vejamos|vamos (?:ver|pensar)|pois bem|(?:deixa eu|deixe-me|me deixa) (?:pensar|ver)(?: (?:nisso|sobre isso))?)(?:[,.:;!…–—]+\s*|\s*$))+/iu;

/** `plainLine` and `countWords` are those of `preview.ts`. */
export function firstSentence(
  text: string,
  plainLine: (text: string) => string,
  countWords: (text: string) => number,
): string {
  const said = text
    .split("\n")
    .flatMap((line) => plainLine(line).split(SENTENCE_END))
    .map((sentence) => withoutFiller(sentence).replace(/(?<!\.)\.$/, ""))
    .filter(Boolean);
  return said.find((sentence) => countWords(sentence) >= FEWEST_WORDS) ?? said[0] ?? "";
}

function withoutFiller(sentence: string): string {
  const said = sentence.replace(FILLER, "");
  return said === sentence ? said : said.replace(/^./u, (first) => first.toUpperCase());
}
