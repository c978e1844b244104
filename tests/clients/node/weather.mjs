// The tool and the question of all clients.
export const QUESTION = "Where is it warmest?";
export const PARAMETERS = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
export const weather = async ({ city }) => `18 degrees in ${city}`;
