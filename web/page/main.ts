/** Begins. */

import { complain } from "./saying.js";
import { begin } from "./shell.js";

void begin().catch(complain);
