"use client";

import "thinking-block/react";
import { useChat } from "@ai-sdk/react";
import { STORED } from "../../messages";

export default function Page() {
  const { messages, sendMessage } = useChat({ messages: [STORED] });
  return (
    <main>
      {messages.map((message) => (
        <section key={message.id}>
          <thinking-block message={JSON.stringify(message)} />
          <p>{message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}</p>
        </section>
      ))}
      <button type="button" onClick={() => sendMessage({ text: "When does my train leave?" })}>
        Ask
      </button>
    </main>
  );
}
