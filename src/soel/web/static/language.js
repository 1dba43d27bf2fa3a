// The choice of the language: kept in this browser, for all pages.

const select = document.getElementById("language");
select.addEventListener("change", () => {
  document.cookie = `soel-language=${select.value}; path=/; max-age=31536000; samesite=strict`;
  location.reload();
});
