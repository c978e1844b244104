/** The icons of dialogs and of what stands below an answer; fetched with the words for those. */

export const MORE_PATHS = {
  replay: "M9.500 5 3.500 10l6 5ZM16.500 5l-6 5 6 5Z",
  copyThought: "M7 7h9v9.500H7ZM4 13V3.500h9M9.700 11.800h.01M11.500 11.800h.01M13.300 11.800h.01",
  retry: "M16 10a6 6 0 1 1-1.900-4.400L16 7.300M16 3.500v3.800h-3.800",
  play: "M6 4v12l10-6Z",
  pause: "M7 4.500v11M13 4.500v11",
  link: "M8.500 11.500a3 3 0 0 0 4.300 0l2.700-2.700a3 3 0 0 0-4.300-4.300l-1 1M11.500 8.500a3 3 0 0 0-4.300 0l-2.700 2.700a3 3 0 0 0 4.300 4.300l1-1",
  shield: "M10 3l6 2v4.500c0 3.700-2.500 6.300-6 7.500-3.500-1.200-6-3.800-6-7.500V5Z",
  compare: "M3.500 4h5.500v12H3.500ZM11 4h5.500v12H11Z",
  left: "m12 5-5 5 5 5",
  right: "m8 5 5 5-5 5",
} as const;
