// The key is used by a POST, so that a preview of the link does not use it up.
const form = document.getElementById("enter");
if (form.elements.key.value !== "") form.requestSubmit();
