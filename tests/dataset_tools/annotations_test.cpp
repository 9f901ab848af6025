#include "data/write/annotations.h"

#include <unistd.h>

#include "data/fixtures.h"
#include "data/sets/resolve.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

class Annotations : public testing::Test {
protected:
    std::string file(const std::string& text, const std::string& name = "list.txt") {
        data::write_file(folder_ / name, text);
        return folder_ / name;
    }
    test::TemporaryFolder folder_;
};

std::string joined(const std::vector<LabelLine>& labels) {
    std::string text;
    for (const LabelLine& label : labels)
        text += std::to_string(label.line) + ":" + label.path + ">" + label.class_name + " ";
    return text;
}

TEST_F(Annotations, LabelsWithAnySeparator) {
    const std::string path = file(
        "\xef\xbb\xbf"
        "a/x.jpg n01\r\n\nb.jpg\tn02\n my photo.jpg,n03 \nc, d.jpg ,\tn04");
    EXPECT_EQ(joined(read_labels(path)), "1:a/x.jpg>n01 3:b.jpg>n02 4:my photo.jpg>n03 5:c, d.jpg>n04 ");
    EXPECT_EQ(joined(read_labels_or_classes(path)), joined(read_labels(path)));
}

TEST_F(Annotations, ClassesOnly) {
    EXPECT_EQ(joined(read_labels_or_classes(file("n02\nn01\n\nn02\n"))), "1:>n02 2:>n01 4:>n02 ");
}

TEST_F(Annotations, BadLabels) {
    const auto message = [&](const std::string& text) {
        return message_of(ErrorKind::data, [&] { read_labels(file(text)); });
    };
    EXPECT_THAT(message("a.jpg n01\nb.jpg\n"), AllOf(HasSubstr("list.txt, line 2"), HasSubstr("'b.jpg'")));
    EXPECT_THAT(message("a.jpg n01\n,n02\n"), HasSubstr("line 2"));
    EXPECT_THAT(message("a.jpg,\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("a.jpg n01\nb.jpg n01\na.jpg n02"), AllOf(HasSubstr("line 3"), HasSubstr("line 1 already")));
    EXPECT_THAT(message("\n \n"), HasSubstr("labels"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_labels(folder_ / "none"); }), HasSubstr("none"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_labels_or_classes(file("")); }), HasSubstr("labels"));
}

TEST_F(Annotations, ClassesAndTheirNames) {
    EXPECT_THAT(read_classes(file("n02\nn01 tench\n")), ElementsAre("n02", "n01"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_classes(file("n02\nn02\n")); }), HasSubstr("line 2"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_classes(file("")); }), HasSubstr("classes"));
    const auto names = read_class_names(file("n01 tench, Tinca tinca\nn02\t goldfish\r\n"));
    EXPECT_EQ(names.at("n01"), "tench, Tinca tinca");
    EXPECT_EQ(names.at("n02"), "goldfish");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_class_names(file("n01 a\nn02\n")); }), HasSubstr("line 2"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_class_names(file("n01 a\nn01 b\n")); }), HasSubstr("repeated"));
}

TEST_F(Annotations, BoxesFromCsv) {
    const BoxTable boxes = BoxTable::read(file("n01_1.JPEG,0.1,0.2,0.3,0.4\n"
                                               "n01_1.JPEG, 0.5 ,0.5,1,1\n"
                                               "a,b.JPEG,0.9,0.4,0.3,0.2\n"
                                               "flat.JPEG,0.5,0.1,0.5,0.9\n"
                                               "x/same.JPEG,0,0,1,1\ny/same.JPEG,0,0,0.5,1\n"),
                                          1);
    ASSERT_EQ(boxes.of("train/n01/n01_1.JPEG", true).size(), 2u);
    EXPECT_EQ(boxes.of("n01_1.png", true)[0].box, (Box{0.1F, 0.2F, 0.3F, 0.4F}));
    EXPECT_EQ(boxes.of("n01_1.JPEG", true)[1].box, (Box{0.5F, 0.5F, 1, 1}));
    EXPECT_EQ(boxes.of("a,b.JPEG", true)[0].box, (Box{0.3F, 0.2F, 0.9F, 0.4F}));  // sides in order
    EXPECT_TRUE(boxes.of("flat.JPEG", true).empty());
    EXPECT_TRUE(boxes.of("unknown.JPEG", true).empty());
    // A name that stands for several images, in the table or in the folder, counts with its path only.
    EXPECT_EQ(boxes.of("y/same.JPEG", false)[0].box.x_max, 0.5F);
    EXPECT_TRUE(boxes.of("z/same.JPEG", true).empty());
    EXPECT_TRUE(boxes.of("z/n01_1.JPEG", false).empty());
    EXPECT_EQ(boxes.images(), 4u);
}

TEST_F(Annotations, BadCsv) {
    for (const std::string line :
         {"x.jpg,0,0,1", "x.jpg,0,0,1,a", "x.jpg,0,0,120,80", ",0,0,1,1", "x.jpg,0,0,1,nan", "x.jpg,-0.5,0,1,1"}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { BoxTable::read(file("a.jpg,0,0,1,1\n" + line), 1); }),
                    HasSubstr("list.txt, line 2"))
            << line;
    }
}

std::string annotation(const std::string& objects) {
    return "<annotation>\n <filename>%s</filename>\n <size><width>200</width><height>100</height></size>\n" + objects +
           "</annotation>\n";
}

std::string object(const std::string& name, const std::string& sides) {
    return "<object><name>" + name + "</name><bndbox>" + sides + "</bndbox></object>\n";
}

TEST_F(Annotations, BoxesFromXml) {
    posix_files().make_directories(folder_ / "xml/n01");
    const std::string first = object("n01", "<xmin>20</xmin><ymin>25</ymin><xmax>100</xmax><ymax>50</ymax>");
    const std::string second = object("n02", "<ymin>0</ymin><xmin> 0 </xmin><xmax>210</xmax><ymax>100</ymax>");
    file(annotation(first + second), "xml/n01/n01_7.xml");
    file(annotation(""), "xml/n01/n01_8.xml");
    const BoxTable boxes = BoxTable::read(folder_ / "xml", 2);
    const std::vector<ImageBox>& found = boxes.of("n01/n01_7.JPEG", false);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].box, (Box{0.1F, 0.25F, 0.5F, 0.5F}));
    EXPECT_EQ(found[0].class_name, "n01");
    EXPECT_EQ(found[1].box, (Box{0, 0, 1, 1}));  // cut to the image
    EXPECT_EQ(found[1].class_name, "n02");
    EXPECT_EQ(boxes.of("elsewhere/n01_7.JPEG", true).size(), 2u);
    EXPECT_TRUE(boxes.of("n01/n01_8.JPEG", true).empty());
}

TEST_F(Annotations, BadXml) {
    posix_files().make_directories(folder_ / "xml");
    const auto message = [&](const std::string& text) {
        file(text, "xml/a.xml");
        return message_of(ErrorKind::data, [&] { BoxTable::read(folder_ / "xml", 1); });
    };
    const std::string no_ymax = object("n01", "<xmin>20</xmin><ymin>25</ymin><xmax>100</xmax>");
    EXPECT_THAT(message(annotation(no_ymax)), HasSubstr("a.xml, line 4"));
    const std::string word = object("n01", "<xmin>20</xmin><ymin>25</ymin><xmax>wide</xmax><ymax>50</ymax>");
    EXPECT_THAT(message(annotation(word)), AllOf(HasSubstr("a.xml, line 4"), HasSubstr("'wide'")));
    EXPECT_THAT(message(annotation("<object/>")), HasSubstr("line 4"));
    EXPECT_THAT(message("<annotation><object/></annotation>"), HasSubstr("size"));
    EXPECT_THAT(message("<annotation>\n<object>"), HasSubstr("a.xml, line 2"));
    EXPECT_THAT(message("<html/>"), HasSubstr("annotation"));
    EXPECT_THAT(message(""), HasSubstr("a.xml, line 1"));
    const std::string zero = "<annotation><size><width>0</width><height>9</height></size><object/></annotation>";
    EXPECT_THAT(message(zero), HasSubstr("positive"));
    posix_files().remove(folder_ / "xml/a.xml");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { BoxTable::read(folder_ / "xml", 1); }), HasSubstr("file"));
}

TEST_F(Annotations, DigestSeesEveryBox) {
    const auto digest = [&](const std::string& text) { return BoxTable::read(file(text), 1).digest(); };
    EXPECT_EQ(digest("a.jpg,0,0,1,1\nb.jpg,0,0,1,1"), digest("b.jpg,0,0,1,1\na.jpg,0,0,1,1"));
    EXPECT_NE(digest("a.jpg,0,0,1,1"), digest("a.jpg,0,0,1,0.5"));
    EXPECT_NE(digest("a.jpg,0,0,1,1"), digest("b.jpg,0,0,1,1"));
}

TEST_F(Annotations, FilesOfAFolder) {
    posix_files().make_directories(folder_ / "raw/b/.hidden");
    posix_files().make_directories(folder_ / "other");
    for (const char* name :
         {"raw/z.JPG", "raw/b/a.jpeg", "raw/b/.x.jpg", "raw/b/.hidden/y.jpg", "raw/b/text.txt", "other/linked.jpg"}) {
        file("", name);
    }
    ASSERT_EQ(::symlink("../other", (folder_ / "raw/c").c_str()), 0);
    const std::vector<std::string> expected = {"b/a.jpeg", "c/linked.jpg", "z.JPG"};
    EXPECT_EQ(data::list_images(folder_ / "raw").names, expected);
    EXPECT_EQ(data::list_images(folder_ / "raw/").names, expected);
    ASSERT_EQ(::symlink("..", (folder_ / "raw/b/loop").c_str()), 0);
    const data::ListedFiles listed = data::list_images(folder_ / "raw");
    EXPECT_EQ(listed.names, expected) << "a link that leads up is no folder of photos";
    EXPECT_EQ(listed.left_out.at(""), 1);
}

}  // namespace
}  // namespace cnntrain::data
