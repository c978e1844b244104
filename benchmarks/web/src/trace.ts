/**
 * A long thought in markdown, always the same: what a model writes when it works something out.
 *
 * Most of it is paragraphs and lists, some is code, and every part has its number in it, so that what is on
 * the screen can be held against what was said.
 */

const WORDS = `the of and a to in is so that it we check first then sum total value because therefore however step
answer number equals plus minus if not but maybe wait let me think again ferry harbour schedule weekday boarding
pier minutes route worst case margin small boat closes earlier option second reading table column entry`.split(/\s+/);

/** A source of numbers that looks like chance and is the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** A text of exactly so many characters. */
export function trace(length: number): string {
  const roll = dice(7);
  const word = (): string => WORDS[roll(WORDS.length)] as string;
  const plain = (count: number): string => Array.from({ length: count }, word).join(" ");
  const dressed = (): string => [plain(2), `**${plain(2)}**`, `\`${word()}_${word()}\``, `*${word()}*`, "a < b"][roll(5)] as string;
  const sentence = (): string => `${plain(3 + roll(8))} ${dressed()}, ${plain(4 + roll(8))}.`;
  const shapes: ((mark: string) => string)[] = [
    (mark) => `${mark} ${sentence()} ${sentence()} ${sentence()}`,
    (mark) => `${mark} ${sentence()}\n${sentence()}`,
    (mark) => `Wait. ${mark} ${sentence()} See [the ${word()}](https://example.org/${word()}). ${sentence()}`,
    (mark) => [mark, word(), word()].map((first) => `- ${first} ${sentence()}`).join("\n"),
    (mark) => [mark, word(), word()].map((first, at) => `${at + 1}. ${first} ${sentence()}`).join("\n"),
    (mark) => `## ${mark} ${plain(3)}`,
    (mark) => `> ${mark} ${sentence()}`,
    (mark) => `\`\`\`js\n// ${mark}\nconst ${word()} = ${roll(99)} + ${word()};\nreturn ${word()}(${roll(9)});\n\`\`\``,
  ];
  const often = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7];
  const parts: string[] = [];
  for (let size = 0, number = 0; size < length; number++) {
    const part = (shapes[often[roll(often.length)] as number] as (mark: string) => string)(`part${number}`);
    parts.push(part);
    size += part.length + 2;
  }
  return parts.join("\n\n").slice(0, length);
}

/** The numbers of the parts that a text has. */
export function marks(text: string): string[] {
  return text.match(/part\d+/g) ?? [];
}
