/** The page's script. */

import { start } from "./start.js";
import { showError } from "./toasts.js";

void start().catch(showError);
