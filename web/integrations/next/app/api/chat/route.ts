import { streamedChunks } from "../../../../messages";

export function POST(): Response {
  return streamedChunks();
}
