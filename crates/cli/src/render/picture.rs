//! Pictures in PDF and PNG, made from SVG. The font is part of the program, so that a picture is the same everywhere.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use svg2pdf::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

/// Dots per inch of a PNG picture.
const DOTS: f32 = 600.0;
/// Units of SVG per inch.
const UNITS: f32 = 96.0;

fn tree(svg: &str) -> Result<Tree, String> {
    let mut options = Options { font_family: "DejaVu Sans".to_string(), ..Options::default() };
    options.fontdb_mut().load_font_data(dejavu::sans::regular().to_vec());
    Tree::from_str(svg, &options).map_err(|error| error.to_string())
}

/// The picture as PDF, with an embedded font.
pub(crate) fn pdf(svg: &str) -> Result<Vec<u8>, String> {
    let page = PageOptions { dpi: UNITS };
    svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), page).map_err(|error| error.to_string())
}

/// The picture as PNG on white.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    let (scale, size) = (DOTS / UNITS, tree.size());
    let dots = |units: f32| (units * scale).ceil() as u32;
    let mut picture = Pixmap::new(dots(size.width()), dots(size.height())).ok_or("the picture is too large")?;
    picture.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"72pt\" height=\"36pt\" viewBox=\"0 0 72 36\">\
        <text x=\"5\" y=\"20\" font-family=\"DejaVu Sans\" font-size=\"8\">queue</text></svg>";

    #[test]
    fn png_has_picture_size_and_is_not_blank() {
        let picture = Pixmap::decode_png(&png(SVG).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (600, 300));
        assert!(picture.pixels().iter().any(|dot| dot.red() < 50), "the text is drawn");
    }

    #[test]
    fn pdf_has_size_of_picture_and_its_font() {
        let file = pdf(SVG).unwrap();
        let text = String::from_utf8_lossy(&file);
        assert!(text.starts_with("%PDF-") && text.contains("/MediaBox [0 0 72 36]"), "{text}");
        assert!(text.contains("DejaVuSans"), "the font is embedded");
    }
}
