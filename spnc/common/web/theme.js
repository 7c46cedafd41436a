// Light and dark colours: those of the system until the button is pressed.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("script");
  const button = document.querySelector(".theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const remember = (value) => { try { localStorage.setItem("spnc-theme", value); } catch { } };
  const remembered = () => { try { return localStorage.getItem("spnc-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  label();
})();
