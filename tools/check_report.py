#!/usr/bin/env python3
"""Looks at a page of `cnntrain report` in a real browser.

tools/check_report.py PAGE.html [PAGE.html...] --output FOLDER

Opens each page in Debian's chromium at 1280 and 390 pixels, light and dark, and checks that
- the console has no message, nothing is loaded from elsewhere, and the page is not wider than the window;
- axe finds no violation (contrast, names, structure, keyboard);
- values appear under the pointer and with the arrow keys, and smoothing changes the curves of the training;
- without scripts, the page shows its answers and curves;
- it can be printed.
Writes a picture of the first screen and of the whole page for each width and scheme, and a PDF. Exit code 1 if anything
fails. Needs `apt-get install chromium chromium-driver` and the Python packages selenium and axe-selenium-python.
"""
import argparse
import base64
import pathlib
import sys

from axe_selenium_python import Axe
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
HEIGHT = 800


def browser():
    options = Options()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def show(driver, page, width, scheme, height=HEIGHT):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(page.resolve().as_uri())


def check_look(driver, page, width, scheme, output, failures):
    where = f"{page.name}, {width} pixels, {scheme}: "
    show(driver, page, width, scheme)
    driver.save_screenshot(str(output / f"{page.stem}_{width}_{scheme}.png"))
    size = driver.execute_script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    if size[0] > width:
        failures.append(where + f"the page is {size[0]} pixels wide")
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    outside = [name for name in loaded if not name.startswith("data:")]
    if outside:
        failures.append(where + f"loads {outside}")
    for message in driver.get_log("browser"):
        failures.append(where + f"console: {message['message']}")
    show(driver, page, width, scheme, size[1])
    driver.save_screenshot(str(output / f"{page.stem}_{width}_{scheme}_whole.png"))
    axe = Axe(driver)
    axe.inject()
    result = axe.run()
    for violation in result["violations"]:
        failures.append(where + f"axe: {violation['id']}: {violation['nodes'][0]['html'][:200]}")
    print(f"{where}{size[1]} pixels high, {len(result['passes'])} rules of axe hold")


def check_use(driver, page, failures):
    """Pointer, keyboard and smoothing."""
    show(driver, page, WIDTHS[0], SCHEMES[0])
    charts = driver.find_elements("css selector", "svg.lines")
    if not charts:
        return
    readout = driver.find_elements("css selector", ".readout")[0]
    ActionChains(driver).move_to_element(charts[0]).perform()
    if ":" not in readout.text:
        failures.append(f"{page.name}: no values under the pointer")
    ActionChains(driver).move_to_element(driver.find_element("css selector", "h1")).perform()
    driver.execute_script("arguments[0].focus()", charts[0])
    texts = []
    for _ in range(2):
        ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
        texts.append(readout.text)
    if len(set(texts)) != 2 or not all(":" in text for text in texts):
        failures.append(f"{page.name}: the arrow keys show {texts}")
    noisy = driver.find_elements("css selector", "polyline[data-noisy]")
    if not noisy or len(noisy[0].get_attribute("data-x").split()) < 3:
        return
    before = noisy[0].get_attribute("points")
    driver.execute_script("const s = document.getElementById('smooth'); s.value = 0.8;"
                          "s.dispatchEvent(new Event('input'))")
    if noisy[0].get_attribute("points") == before:
        failures.append(f"{page.name}: smoothing changes nothing")


def check_without_script(driver, page, failures):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show(driver, page, WIDTHS[0], SCHEMES[0])
    text = driver.find_element("css selector", "main").text
    if "Did it learn?" not in text:
        failures.append(f"{page.name}: without scripts, the answers are not shown")
    if driver.find_element("css selector", "body").is_displayed() is False:
        failures.append(f"{page.name}: nothing is shown without scripts")
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def check_print(driver, page, output, failures):
    show(driver, page, WIDTHS[0], SCHEMES[1])
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27,
                                                         "paperHeight": 11.69})
    pdf = base64.b64decode(printed["data"])
    (output / f"{page.stem}.pdf").write_bytes(pdf)
    if len(pdf) < 10000:
        failures.append(f"{page.name}: the printed page is nearly empty")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder of pictures and PDF files")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    failures = []
    driver = browser()
    try:
        for page in arguments.pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    check_look(driver, page, width, scheme, arguments.output, failures)
            check_use(driver, page, failures)
            check_print(driver, page, arguments.output, failures)
            check_without_script(driver, page, failures)
    finally:
        driver.quit()
    for failure in failures:
        print("FAILED " + failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
