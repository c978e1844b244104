import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Turn } from "./Turn.js";

createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <Turn />
  </StrictMode>,
);
