import { streamedChunks } from "../../../messages";

export default defineEventHandler(() => streamedChunks());
