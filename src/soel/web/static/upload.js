// Files in small pieces: each is a request below the limit.

import { newName, send } from "./api.js";

const PIECE = 192 * 1024; // below the limit of a request

export const newUpload = newName;

// onPiece(done, total): after each piece, in bytes
export async function sendFile(upload, file, onPiece = () => {}) {
  for (let at = 0; at === 0 || at < file.size; at += PIECE) {
    const query = new URLSearchParams({ upload, name: file.name, at });
    const headers = { "content-type": "application/octet-stream" };
    await send(`/api/uploads?${query}`, { method: "POST", headers, body: file.slice(at, at + PIECE) });
    onPiece(Math.min(at + PIECE, file.size), file.size);
  }
}
