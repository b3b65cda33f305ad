// Shows each chosen picture large before it is sent, drawn on a canvas, which the page's CSP allows. A file that
// this browser cannot show is not shown; when it is sent, the page says what is wrong with it.
"use strict";

async function show(field, canvas) {
  const file = field.files[0];
  canvas.hidden = true;
  if (!file) return;
  try {
    const picture = await createImageBitmap(file, { resizeWidth: 1200, resizeQuality: "medium" });
    if (file !== field.files[0]) return;
    canvas.width = picture.width;
    canvas.height = picture.height;
    canvas.getContext("2d").drawImage(picture, 0, 0);
    picture.close();
    canvas.hidden = false;
  } catch {
    // It stays hidden.
  }
}

for (const canvas of document.querySelectorAll("canvas[data-picture]")) {
  const field = document.getElementById(canvas.dataset.picture);
  field.addEventListener("change", () => show(field, canvas));
  show(field, canvas); // browsers may keep the choice when the page is opened again
}
