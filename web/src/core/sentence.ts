/**
 * The first sentence of a thought that says something, without its filler words.
 *
 * Most pages never need it: the element loads it once a header wants a summary and nobody wrote one. It takes what it
 * needs from the caller, so that it is a chunk without imports.
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
  const sentences = text
    .split("\n")
    .flatMap((line) => plainLine(line).split(SENTENCE_END))
    .map((sentence) => withoutFiller(sentence).replace(/(?<!\.)\.$/, ""))
    .filter(Boolean);
  return sentences.find((sentence) => countWords(sentence) >= FEWEST_WORDS) ?? sentences[0] ?? "";
}

function withoutFiller(sentence: string): string {
  const rest = sentence.replace(FILLER, "");
  return rest === sentence ? rest : rest.replace(/^./u, (first) => first.toUpperCase());
}
