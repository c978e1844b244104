/**
 * The sentence of a thought that says something, without its filler words: the first, or the last that is a result.
 *
 * Most pages never need it: the element loads it once a header wants a summary and nobody wrote one. It takes what it
 * needs from the caller, so that it is a chunk without imports.
 */

const FEWEST_WORDS = 3;

const SENTENCE_END = /(?<=[.!?…])\s+(?=(?![a-zß-öø-ÿ])[\p{L}\p{Nl}\p{No}]|[\d"'“«([¿¡])|(?<=[。！？])/u;
const FILLER =
  /^(?:(?:okay|ok|alright|all right|hmm+|hm|um+|uh+|oh|ah|hum|tá(?: bom)?)(?![\p{L}\p{N}_])[\s,.:;!…–—-]*|(?:so|well|now|right|sure|wait|great|let(?: me|'?s) (?:think|see)(?: about (?:this|that|it))?|bem|bom|certo|então|agora|espera|vejamos|vamos (?:ver|pensar)|pois bem|(?:deixa eu|deixe-me|me deixa) (?:pensar|ver)(?: (?:nisso|sobre isso))?)(?:[,.:;!…–—]+\s*|\s*$))+/iu;

const INTENTION =
  /^(?:(?:now|so|then|agora|então),? )?(?:let me|let's|i'll|i will|i should|i need to|i can now|i'm going to|vou|vamos|preciso|devo|deixe-me|deixa eu)(?![\p{L}\p{N}_])/iu;

/** `plainLine` and `countWords` are those of `preview.ts`; with `last` the sentence is taken from the end. */
export function findSentence(
  text: string,
  last: boolean,
  plainLine: (text: string) => string,
  countWords: (text: string) => number,
): string {
  const sentences = text
    .split("\n")
    .flatMap((line) => plainLine(line).split(SENTENCE_END))
    .map((sentence) => withoutFiller(sentence).replace(/(?<!\.)\.$/, ""))
    .filter(Boolean);
  const long = sentences.filter((sentence) => countWords(sentence) >= FEWEST_WORDS);
  if (!last) return long[0] ?? sentences[0] ?? "";
  return long.findLast((sentence) => !INTENTION.test(sentence)) ?? long.at(-1) ?? sentences.at(-1) ?? "";
}

function withoutFiller(sentence: string): string {
  const rest = sentence.replace(FILLER, "");
  return rest === sentence ? rest : rest.replace(/^./u, (first) => first.toUpperCase());
}
