// The key is used by a POST, so that a preview of the link does not use it up; a change of the user is asked first.
const form = document.getElementById("enter");
if (form.elements.key.value !== "" && !("asks" in form.dataset)) form.requestSubmit();
